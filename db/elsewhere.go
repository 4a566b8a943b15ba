package db

import "fmt"

// OnElsewhere has fn called, before anything else is written, whenever another process
// has written to the database since this one did: a command beside a server, for instance.
// It is called inside the transaction and must not wait. It is to be set before the first
// Write that others wait for.
func (d *DB) OnElsewhere(fn func(r *Reader) error) { d.onElsewhere = append(d.onElsewhere, fn) }

// lookElsewhere finds out whether another connection wrote since the last time.
func (d *DB) lookElsewhere(s *session) error {
	var version int64
	if err := s.row(`PRAGMA data_version`, nil, &version); err != nil {
		return fmt.Errorf("look whether others wrote: %w", err)
	}
	if version == d.dataVersion {
		return nil
	}
	if d.dataVersion != 0 {
		d.generations.bumpAll()
		*s.standings++
		for _, fn := range d.onElsewhere {
			if err := fn(&Reader{session: *s}); err != nil {
				return err
			}
		}
	}
	d.dataVersion = version
	return nil
}
