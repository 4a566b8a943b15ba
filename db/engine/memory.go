package engine

import (
	"context"
	"fmt"
)

// FreePages has the connections that nobody uses right now let go of the pages that they
// hold in memory. It waits for the writer until ctx ends. Errors: those of the store.
func (d *DB) FreePages(ctx context.Context) error {
	if d.path == "" {
		return nil // it holds them elsewhere
	}
	err := d.run(ctx, (*Conn).freePages)
	for _, r := range d.readers.takeUnused() {
		if err == nil && r.conn != nil {
			err = r.freePages()
		}
		d.readers.put(r)
	}
	if err != nil {
		return fmt.Errorf("free the pages in memory: %w", err)
	}
	return nil
}

func (s *Conn) freePages() error {
	_, err := s.Exec(`PRAGMA shrink_memory`)
	return err
}
