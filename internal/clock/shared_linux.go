package clock

import (
	"os"
	"strings"
)

// bootID names this start of the machine, and the time namespace: each namespace has its own CLOCK_BOOTTIME.
func bootID() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || Boottime() == 0 {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/time")
	if err != nil { // a kernel without time namespaces
		namespace = "time"
	}
	return strings.TrimSpace(string(boot)) + "/" + namespace
}
