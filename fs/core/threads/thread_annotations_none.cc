#include "fs/core/threads/thread_annotations.h"

namespace framefs::fs {

void annotate_acquire(void*) noexcept {}
void annotate_release(void*) noexcept {}

}  // namespace framefs::fs
