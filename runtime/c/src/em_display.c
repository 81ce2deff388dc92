/* The only computation in double, for people: a program that does not call it links none. */
#include "em_layout.h"

#if EM_FLOATS
EM_API double em_display(const em_monitor *m, size_t index, em_number raw) {
    if (m == NULL || m->file == NULL || index >= m->n_monitors) {
        return 0.0;
    }
    const em_monitor_record *mon = em_monitor_at(m, index);
    const double number =
        em_is_f32(em_node_at(m, mon->score - m->n_taps)->dtype) ? (double)raw.f : (double)raw.i;
    const double shown = number * mon->display_scale;
    return mon->display == 1 ? shown / (1.0 + shown) : shown;
}
#endif
