package engine

import "context"

// writerTask is a function that runs on the writer's connection, outside of any transaction.
type writerTask struct {
	fn   func(*Conn) error
	done chan error
}

// run runs fn on the writer's connection, between two transactions. fn must be short.
func (d *DB) run(ctx context.Context, fn func(*Conn) error) error {
	c := &writerTask{fn: fn, done: make(chan error, 1)}
	select {
	case d.tasksForWriter <- c:
	case <-ctx.Done():
		return ctx.Err()
	case <-d.failed:
		return d.Err()
	case <-d.closing:
		return ErrClosed
	}
	select {
	case err := <-c.done:
		return err
	case <-d.done:
		select {
		case err := <-c.done:
			return err
		default:
			return ErrClosed
		}
	}
}

// pragma runs a PRAGMA and discards its rows.
func (s *Conn) pragma(text string) error {
	rows, err := s.conn.QueryContext(context.Background(), text)
	if err != nil {
		return err
	}
	return rows.Close()
}
