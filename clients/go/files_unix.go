//go:build unix

package keyrail

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openForReading follows no symbolic link, and does not wait for the writer of a pipe.
func openForReading(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, errors.New("it is a symbolic link")
	}
	return file, err
}

func checkOwner(info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() {
		return errors.New("it belongs to another user")
	}
	if info.Mode().Perm()&othersMayWrite != 0 {
		return errors.New("its group or others can write to it")
	}
	return nil
}
