package keyrail

import (
	"fmt"
	"math"
	"path/filepath"
	"sync"
	"time"
)

const (
	// At least this long between two writes of all keys. Longer for many keys.
	keysEveryMs = 5_000
	// Between two confirmation notes, which have a hundred bytes.
	confirmedEveryMs = 5_000
	// Between two attempts to open a directory that could not be used.
	diskRetryMs = 600_000
	// How long a caller waits for a disk that hangs, such as a network disk.
	diskMaxMs = 10_000
)

// resumed is what an earlier process left. If it isFresh, it is confirmed on this process's clock and can be
// served.
type resumed struct {
	kept
	isFresh    bool
	serviceNow float64
}

// disk keeps the copy of a project and scope for the next start. It is written whole after polls, every few
// seconds at most. If only the confirmation time has changed, a small note beside it records that. The note
// names the version, so that of several processes with one directory any may write the snapshot, any the
// note, and any read both. Nothing here fails: the node reports an error and continues without the disk.
type disk struct {
	settings *settings
	clock    clock
	time     *serviceTime
	reports  *reports
	name     string

	mu sync.Mutex
	// isGivenUp: the disk hung: do not use it any more, and report nothing further.
	isGivenUp bool
	// directory is empty until it was opened and checked.
	directory string
	openedAt  float64
	hasFailed bool
	// writing is closed when the write has ended; nil if there is none.
	writing chan struct{}
	// onDisk and revision are what this process has read from the disk or written to it last.
	onDisk   *store
	revision int
	// When keys and a confirmation were written, and which confirmation.
	keysAt, confirmedAt, confirmedThen float64
}

func newDisk(settings *settings, clock clock, time *serviceTime, reports *reports) *disk {
	scope := &settings.scope
	return &disk{
		settings: settings, clock: clock, time: time, reports: reports,
		// One name per project and environment, so that a reader with another scope finds the file and
		// rejects it.
		name:     "policy-" + scope.project + "-" + scope.env,
		openedAt: math.Inf(-1), keysAt: math.Inf(-1), confirmedAt: math.Inf(-1), confirmedThen: math.Inf(-1),
	}
}

// load opens the directory and reads what an earlier process left. Nil: a cold start.
func (d *disk) load() *resumed {
	done := make(chan *resumed, 1)
	go func() { done <- d.loadNow() }()
	select {
	case found := <-done:
		return found
	case <-time.After(diskMaxMs * time.Millisecond):
		d.notify("disk_unusable", fmt.Sprintf("CacheDir is not used: the disk has not answered for %d ms", diskMaxMs))
		d.giveUp()
		return nil
	}
}

func (d *disk) loadNow() *resumed {
	directory, err := d.open()
	if err != nil {
		d.notify("disk_unusable", "CacheDir is not used: "+err.Error())
		return nil
	}
	path := filepath.Join(directory, d.name)
	file, err := readWhole(path)
	if err != nil {
		d.notify("disk_file_refused", "The disk snapshot is not used: "+err.Error())
		return nil
	}
	if file == nil {
		return nil
	}
	read, refused := decodeSnapshot(file, &d.settings.scope, d.settings.maxKeys)
	if refused != nil {
		code := "disk_file_refused"
		if refused.isScope {
			code = "disk_scope_mismatch"
		}
		d.notify(code, "The disk snapshot is not used: "+refused.why)
		return nil
	}
	d.mu.Lock()
	d.onDisk, d.revision = read.store, read.store.revision
	d.mu.Unlock()
	ageMs, serviceNow := d.ageOf(read, path+".confirmed")
	isFresh := ageMs < d.settings.cachedTTLMs
	if isFresh {
		read.store.confirm(d.clock.monotonic() - ageMs)
	}
	return &resumed{read.kept, isFresh, serviceNow}
}

func (d *disk) open() (string, error) {
	d.mu.Lock()
	d.openedAt = d.clock.monotonic()
	d.mu.Unlock()
	directory, err := openDirectory(d.settings.cacheDir)
	if err != nil {
		return "", err
	}
	removeLeftovers(directory, d.name, time.UnixMilli(int64(d.clock.wall())))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.directory = directory
	return directory, nil
}

// ageOf is how long ago the snapshot was confirmed, by the later of its two records, and the service's time
// now.
func (d *disk) ageOf(read *loaded, notePath string) (ageMs, serviceNow float64) {
	ageMs, serviceNow = d.age(read.at)
	if note, ok := readNote(notePath, d.subjectOf(&read.kept)); ok {
		if noteAge, noteNow := d.age(note); noteAge < ageMs {
			return noteAge, noteNow
		}
	}
	return ageMs, serviceNow
}

// age takes the longer age by two clocks: the wall clock may have been set back since, and the uptime starts
// again with the machine. A confirmation in the future is invalid, and so is one without the service's time,
// because expiry cannot be checked then, and one that the uptime cannot judge.
func (d *disk) age(at confirmation) (ageMs, serviceNow float64) {
	byWall := d.clock.wall() - at.wall
	ageMs = math.Max(byWall, d.clock.uptime()-at.uptime)
	serviceNow = at.service + ageMs
	if byWall >= 0 && !math.IsNaN(serviceNow) && !math.IsInf(serviceNow, 0) {
		return ageMs, serviceNow
	}
	return math.Inf(1), math.NaN()
}

// keep is for after a successful poll. It returns before anything is written.
func (d *disk) keep(k *kept) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isGivenUp || d.writing != nil || k == nil {
		return
	}
	now := d.clock.monotonic()
	if d.directory == "" {
		if now-d.openedAt >= diskRetryMs {
			d.run(func() { _, _ = d.open() })
		}
		return
	}
	last, every := d.confirmedAt, float64(confirmedEveryMs)
	if d.isChanged(k) {
		last, every = d.keysAt, math.Max(keysEveryMs, float64(k.store.size)/10)
	}
	if now-last >= every {
		d.write(k)
	}
}

func (d *disk) isChanged(k *kept) bool { return d.onDisk != k.store || d.revision != k.store.revision }

// close writes what is not yet written, and waits for it.
func (d *disk) close(k *kept) {
	late := time.After(diskMaxMs * time.Millisecond)
	isLate := d.wait(late)
	d.mu.Lock()
	if !isLate && d.directory != "" && k != nil && !d.isGivenUp &&
		(d.isChanged(k) || k.store.confirmedAt > d.confirmedThen) {
		d.write(k)
	}
	d.mu.Unlock()
	if isLate || d.wait(late) {
		d.notify("disk_write_failed",
			fmt.Sprintf("The disk snapshot was not written: the disk has not answered for %d ms", diskMaxMs))
		d.giveUp()
	}
}

// wait waits for the write under way. It returns true if that takes too long.
func (d *disk) wait(late <-chan time.Time) bool {
	d.mu.Lock()
	writing := d.writing
	d.mu.Unlock()
	if writing == nil {
		return false
	}
	select {
	case <-writing:
		return false
	case <-late:
		return true
	}
}

// run works beside the node, one work at a time. The caller holds the lock.
func (d *disk) run(work func()) {
	writing := make(chan struct{})
	d.writing = writing
	go func() {
		work()
		d.mu.Lock()
		d.writing = nil
		d.mu.Unlock()
		close(writing)
	}()
}

func (d *disk) notify(code, message string) {
	d.mu.Lock()
	isGivenUp := d.isGivenUp
	d.mu.Unlock()
	if !isGivenUp {
		d.reports.error(lasting(code, message))
	}
}

func (d *disk) giveUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isGivenUp = true
}
