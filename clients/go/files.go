package keyrail

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Files of a node: complete or absent. They hold nothing secret: a key cannot be derived from its digest.

const (
	othersMayWrite = 0o022
	// Larger than a store with the maximum number of keys.
	fileMaxBytes = 1_500_000_000
	// Age of a temporary file whose writer was killed.
	leftoverAge = time.Hour
)

// openDirectory returns the absolute path. It fails if others could put a file into the directory.
func openDirectory(named string) (string, error) {
	// Without a slash at the end, with which the system would follow a symbolic link.
	path, err := filepath.Abs(named)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return "", errors.New("it is a symbolic link")
	}
	if !info.IsDir() {
		return "", errors.New("it is not a directory")
	}
	return path, checkOwner(info)
}

// readWhole returns nil without an error if the file does not exist. It fails if others could have written
// it.
func readWhole(path string) ([]byte, error) {
	file, err := openForReading(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	if err := checkOwner(info); err != nil {
		return nil, err
	}
	if info.Size() > fileMaxBytes {
		return nil, errors.New("it is too large")
	}
	bytes := make([]byte, info.Size())
	read, err := io.ReadFull(file, bytes)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return bytes[:read], nil
}

// writeWhole replaces a file atomically: after a crash it is either the old or the new one.
func writeWhole(directory, name string, bytes []byte) error {
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	temporary := filepath.Join(directory, name+"."+hex.EncodeToString(random[:])+".tmp")
	err := writeNew(temporary, bytes)
	if err == nil {
		err = os.Rename(temporary, filepath.Join(directory, name))
	}
	if err != nil {
		_ = os.Remove(temporary)
		return err
	}
	// Some systems cannot open a directory; there the rename is as durable as they make it.
	if opened, err := os.Open(directory); err == nil {
		_ = opened.Sync()
		_ = opened.Close()
	}
	return nil
}

func writeNew(path string, bytes []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(bytes)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// removeLeftovers removes temporary files that were never renamed.
func removeLeftovers(directory, name string, now time.Time) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), name+".") || !strings.HasSuffix(entry.Name(), ".tmp") {
			continue
		}
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > leftoverAge {
			_ = os.Remove(filepath.Join(directory, entry.Name()))
		}
	}
}
