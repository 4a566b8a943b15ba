package receiver

import (
	"time"

	"mailer/web/smtp/conn"
)

// limits bound one peer, and all peers together.
type limits struct {
	conn       conn.Limits
	session    time.Duration // after the first valid return path
	recipients int           // per message
	refusals   int           // recipients refused before the connection is closed
	messages   int           // per session
	message    int64         // bytes per message
	line       int           // bytes per line
	store      time.Duration // of one TakeBounce
}

func defaultLimits() limits {
	return limits{
		conn:       conn.Limits{Conns: 100, PerAddress: 10, Reserve: 20, SessionBytes: 20 << 20, Idle: time.Minute, MaxAge: 30 * time.Second},
		session:    5 * time.Minute,
		recipients: 10,
		refusals:   10,
		messages:   100,
		message:    10 << 20,
		line:       8 << 10,
		store:      30 * time.Second,
	}
}
