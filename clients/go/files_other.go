//go:build !unix

package keyrail

import (
	"io/fs"
	"os"
)

func openForReading(path string) (*os.File, error) { return os.Open(path) }

// checkOwner: systems without POSIX users have no such bits.
func checkOwner(fs.FileInfo) error { return nil }
