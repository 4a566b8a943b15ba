package receiver

import (
	"time"

	"mailer/app"
	"mailer/web/smtp/conn"
)

// limits bound one peer, and all peers together.
type limits struct {
	conn       conn.Limits
	greet      time.Duration // for EHLO, for MAIL, and for a TLS handshake
	command    time.Duration // for each other command
	session    time.Duration // after the first accepted recipient, and after each message
	recipients int           // per message
	refusals   int           // recipients refused before the connection is closed
	commands   int           // between two messages
	message    int64         // bytes per message
	line       int           // bytes per command line
	memory     int64         // bytes of one message that are kept in memory
	disk       int64         // bytes of all messages that are being received on disk
	share      int64         // of disk, for one address
	rate       int64         // bytes of mail per second, of all peers
	stall      time.Duration // for the next part of a message
	body       time.Duration // for the content of one message
	lookup     time.Duration // of one Recipient
	store      time.Duration // of one Take or TakeBounce
}

func defaultLimits() limits {
	return limits{
		conn: conn.Limits{Conns: 500, PerAddress: 20, Reserve: 100, SessionBytes: 2 * app.MaxReceived, Idle: time.Minute, MaxAge: 2 * time.Minute,
			Refusals: 100, RefusalsWithin: time.Hour, RefusedFor: 10 * time.Minute},
		greet:      30 * time.Second,
		command:    time.Minute,
		session:    10 * time.Minute,
		recipients: app.MaxReceivedRecipients,
		refusals:   10,
		commands:   1000,
		message:    app.MaxReceived,
		line:       2048,
		memory:     64 << 10,
		disk:       2 << 30,
		share:      512 << 20,
		rate:       20 << 20,
		stall:      time.Minute,
		body:       5 * time.Minute,
		lookup:     10 * time.Second,
		store:      2 * time.Minute,
	}
}

// deadline returns the time until which more of a message that began at start must have arrived.
func (l *limits) deadline(start, now time.Time, _ int64) time.Time {
	if at, end := now.Add(l.stall), start.Add(l.body); at.Before(end) {
		return at
	}
	return start.Add(l.body)
}
