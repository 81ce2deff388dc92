/* Stands in for Zephyr's logging, with the formats checked. */
#ifndef STAND_IN_ZEPHYR_LOG_H
#define STAND_IN_ZEPHYR_LOG_H

#define LOG_LEVEL_INF 3
#define LOG_MODULE_REGISTER(name, level) extern int stand_in_log_##name
void stand_in_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define LOG_ERR(...) stand_in_log(__VA_ARGS__)
#define LOG_WRN(...) stand_in_log(__VA_ARGS__)
#define LOG_INF(...) stand_in_log(__VA_ARGS__)

#endif /* STAND_IN_ZEPHYR_LOG_H */
