/*
 * Has glibc give large memory back to the system when it is freed.
 *
 * By default the size from which an allocation is a mapping of its own grows with what is freed, up
 * to 32 MB, and twice as much may stay unused at the end of the heap. After one long answer the
 * next ones come from the heap and most of it stays. Setting either limit ends that. Rust cannot
 * call mallopt without unsafe code, which this program has none of; hence a constructor.
 */
#include <malloc.h>

#define LIMIT_BYTES (512 * 1024)

__attribute__((constructor)) static void limit_what_malloc_keeps(void)
{
    mallopt(M_MMAP_THRESHOLD, LIMIT_BYTES);
    mallopt(M_TRIM_THRESHOLD, LIMIT_BYTES);
}
