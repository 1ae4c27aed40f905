//go:build !linux

package keyrail

import "math"

// uptimeMs is NaN: this package asks only Linux for it.
func uptimeMs() float64 { return math.NaN() }
