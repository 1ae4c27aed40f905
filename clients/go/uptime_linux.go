package keyrail

import (
	"math"
	"syscall"
	"unsafe"
)

// clockBoottime goes on while the machine sleeps.
const clockBoottime = 7

// uptimeMs is the time since the machine started, with the time that it slept.
func uptimeMs() float64 {
	var at syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&at)), 0)
	if errno != 0 {
		return math.NaN()
	}
	seconds, nanoseconds := at.Unix()
	return float64(seconds)*1_000 + float64(nanoseconds)/1_000_000
}
