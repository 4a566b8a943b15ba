package submission

import (
	"time"

	"mailer/web/smtp/conn"
)

// MaxMessage is the maximum size of a message in bytes.
const MaxMessage = 40 << 20

// teamStoreBytes bounds the bytes of a team's messages that are stored at the same time; one larger
// message alone is allowed.
const teamStoreBytes = 2 << 20

// paceStep is how often a rate-limited message tries again.
const paceStep = 200 * time.Millisecond

// limits bound one peer, and all peers together.
type limits struct {
	conn          conn.Limits
	bouncePortAge time.Duration // age of a connection at a port that receives bounces too
	rateWait      time.Duration // how long a rate-limited message waits
	message       int64         // bytes of one message
	memory        int64         // bytes of one message that are kept in memory
	disk          int64         // bytes of all messages that are being received on disk
	share         int64         // bytes of one team on disk
	command       int           // bytes of a command line
	commands      int           // commands between two messages
	handshake     time.Duration // of TLS
	stall         time.Duration // for the next part of a message
	grace         time.Duration // before the minimum rate of a message applies
	rate          int64         // minimum bytes per second of a message
	transfer      time.Duration // time for one message
	store         time.Duration // time for one Accept
}

func defaultLimits() limits {
	return limits{
		conn:          conn.Limits{Conns: 200, PerAddress: 20, Reserve: 40, SessionBytes: 2 * MaxMessage, Idle: 5 * time.Minute, MaxAge: 30 * time.Second},
		bouncePortAge: 5 * time.Minute,
		rateWait:      30 * time.Second,
		message:       MaxMessage,
		memory:        64 << 10,
		disk:          1 << 30,
		share:         512 << 20,
		command:       2048,
		commands:      20_000,
		handshake:     30 * time.Second,
		stall:         time.Minute,
		grace:         time.Minute,
		rate:          8 << 10,
		transfer:      30 * time.Minute,
		store:         2 * time.Minute,
	}
}

// deadline returns the time until which more of a message must have arrived, given that got bytes
// arrived since start. The message may neither pause, nor trickle, nor take too long.
func (l *limits) deadline(start, now time.Time, got int64) time.Time {
	at := now.Add(l.stall)
	if slow := start.Add(l.grace + time.Duration(got)*time.Second/time.Duration(l.rate)); slow.Before(at) {
		at = slow
	}
	if end := start.Add(l.transfer); end.Before(at) {
		at = end
	}
	return at
}
