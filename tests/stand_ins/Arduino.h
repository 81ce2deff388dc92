// Stands in for Arduino's header, so that a sketch can be checked for its syntax.
#ifndef STAND_IN_ARDUINO_H
#define STAND_IN_ARDUINO_H

#include <cstddef>
#include <cstdint>

using std::size_t;

struct StandInSerial {
    void begin(unsigned long baud) const;
    void println(const char *text) const;
};
extern const StandInSerial Serial;

void delay(unsigned long milliseconds);
void setup();
void loop();

#endif // STAND_IN_ARDUINO_H
