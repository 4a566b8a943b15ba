// Package receiving takes mail that arrives for domains of teams, stores it, and announces it.
//
// Failure policy: a message is accepted (250) only after it is stored for each team among its recipients. What
// keeps the server from storing now is answered with a temporary error, so that the sender tries again. Mail from
// outside never stops mail of teams: it is refused for a while long before the disk is full, and bounded for each
// team and day.
package receiving

import (
	"context"
	"io"
	"net/netip"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/fair"
	"mailer/app/kit/membudget"
	"mailer/app/rules/mailauth"
	"mailer/app/sending/mailroutes"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/webhooks"
	"mailer/db"
)

// Service implements receiving.
type Service struct {
	*base.Base
	events   *webhooks.Service
	audience *audience.Service
	routes   *mailroutes.Service

	// Check authenticates the sender of a message. Set before use.
	Check func(ctx context.Context, in mailauth.Input) app.ReceivedAuth
	// AskSpamFilter asks a spam filter; nil: there is none. Set before use.
	AskSpamFilter func(ctx context.Context, in *app.SpamQuestion) (*app.ReceivedSpam, error)
	// OnSignal stores the event of a contact that answered an email, for automations; nil: nothing. Set before use.
	OnSignal func(tx *db.Tx, signal app.Signal) error
	// DiskFree returns the free bytes of the disk of the database, and its size. Set before use.
	DiskFree func() (free, size int64, err error)
	// DailyBytes is how many bytes a team may receive on a day; DailyEmails is how many emails.
	DailyBytes, DailyEmails int64

	memory *fair.Semaphore[string] // of messages that are parsed, by team
}

// The limits of a team on a day, unless the operator sets others.
const (
	DefaultDailyBytes  = 1 << 30
	DefaultDailyEmails = 10_000
)

// memoryBytes is the memory of all messages that are parsed at the same time, if the process has no limit.
// parsedFactor is how many bytes a byte of a message needs then, for the message and its decoded parts; textFactor is how
// many more a byte needs that may be of its text, which is kept in three forms and divided into lines.
const (
	memoryBytes  = 256 << 20
	parsedFactor = 3
	textFactor   = 12
)

// The free space of a disk under which nothing is received: both conditions must hold.
const (
	minFreeBytes = 10 << 30
	minFreePart  = 10 // one in so many
)

// New makes the service. limit is the memory limit of the process in bytes; 0: none.
func New(b *base.Base, events *webhooks.Service, audience *audience.Service, routes *mailroutes.Service, limit int64) *Service {
	memory := fair.New(fair.Config[string]{Capacity: membudget.Scale(limit, memoryBytes)})
	return &Service{memory: memory, Base: b, events: events, audience: audience, routes: routes, DailyBytes: DefaultDailyBytes, DailyEmails: DefaultDailyEmails}
}

// Delivery is a message as a peer transferred it.
type Delivery struct {
	RemoteIP netip.Addr
	Helo     string
	MailFrom string // empty: the null sender
	To       []Target
	Raw      io.ReaderAt // with CRLF line ends
	Size     int64
}

// Target is an accepted recipient.
type Target struct {
	Address          string // as written
	TeamID, DomainID string
}
