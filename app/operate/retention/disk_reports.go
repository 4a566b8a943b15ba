package retention

import (
	"context"
	"sync"
	"time"

	"mailer/app/base"
)

const (
	// diskTTL is how long a look is shown again: it reads something of every page of the
	// file and counts all emails.
	diskTTL = 10 * time.Minute
	// diskTimeout is how long one who asks waits for a new look before the last is shown.
	diskTimeout = 2 * time.Second
)

// DiskReports are looks at what takes how much room, in the background and one at a time.
type DiskReports struct {
	*Service

	mu      sync.Mutex
	last    *Disk
	at      time.Time     // when last was begun
	running chan struct{} // closed when the look under way ends; nil: none is
}

// NewDiskReports makes those of a service.
func NewDiskReports(s *Service) *DiskReports { return &DiskReports{Service: s} }

// DiskReport is what is known of the room.
type DiskReport struct {
	Disk              // its file sizes are of now
	At      time.Time // of the rest; zero: the first look is not done
	Running bool      // a newer one is under way
}

// Report returns the last look, and begins a new one where that is old.
func (d *DiskReports) Report(ctx context.Context) (out DiskReport, err error) {
	if done := d.begin(); done != nil {
		patience := time.NewTimer(diskTimeout)
		defer patience.Stop()
		select {
		case <-done:
		case <-patience.C:
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
	sizes, err := d.DB.FileSizes()
	if err != nil {
		return out, base.Unavailable(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last != nil {
		out.Disk, out.At = *d.last, d.at
	}
	out.FileSizes, out.Running = sizes, d.running != nil
	return out, nil
}

// begin has a look begin where the last is old, and returns what tells of its end; nil:
// the last one is good.
func (d *DiskReports) begin() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.running == nil {
		if d.last != nil && time.Since(d.at) < diskTTL {
			return nil
		}
		d.running = make(chan struct{})
		d.Workers.Go(d.read)
	}
	return d.running
}

func (d *DiskReports) read() {
	at := time.Now()
	disk, err := d.Disk(d.Claiming)
	if err != nil && d.Claiming.Err() == nil {
		d.LogUnlessUnavailable("look what takes how much room", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.last, d.at = disk, at
	}
	close(d.running)
	d.running = nil
}
