package retention

import (
	"context"
	"sync"
	"time"

	"mailer/app/base"
)

const (
	// diskTTL is how long a report is shown again: making one reads a part of every page of the
	// file and counts all emails.
	diskTTL = 10 * time.Minute
	// diskTimeout is how long a caller waits for a new report before the last one is returned.
	diskTimeout = 2 * time.Second
)

// DiskReports makes reports of disk usage in the background, one at a time.
type DiskReports struct {
	*Service

	mu      sync.Mutex
	last    *Disk
	at      time.Time     // when last was started
	running chan struct{} // closed when the running report is done; nil: none is running
}

// NewDiskReports returns the reports of a service.
func NewDiskReports(s *Service) *DiskReports { return &DiskReports{Service: s} }

// DiskReport is the known disk usage.
type DiskReport struct {
	Disk              // with current file sizes
	At      time.Time // time of the other figures; zero: no report is done
	Running bool      // a newer report is running
}

// Report returns the last report, and starts a new one if that is old.
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

// begin starts a report if the last one is old, and returns a channel that is closed at its end;
// nil: the last one is valid.
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
