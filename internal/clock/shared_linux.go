package clock

import (
	"os"
	"strings"
)

// bootID names this start of the machine and the time namespace: CLOCK_BOOTTIME differs from
// namespace to namespace.
func bootID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || Boottime() == 0 {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/time")
	if err != nil { // a kernel without them
		namespace = "time"
	}
	return strings.TrimSpace(string(boot)) + "/" + namespace
}
