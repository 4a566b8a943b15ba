package accounts

import (
	"context"
	"net/netip"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/teams"
	"mailer/db"
)

// User is a person who can sign in.
type User = db.User

// Membership is what a person is in a team.
type Membership = db.Membership

// Session is a browser in which a person is signed in.
type Session = db.Session

// SendMail accepts a mail of Mailer's own to a person, from an address of a team's domain. The
// team must not be able to read the text, nor keep it from the person.
type SendMailFunc func(ctx context.Context, team, from, to, subject, text string) error

// Service is accounts and sessions.
type Service struct {
	*base.Base
	// SendMail mails people what was done with their accounts; nil: nobody does.
	SendMail SendMailFunc
	teams    *teams.Service
	guesses  *guessLimiter
	hasher   *hasher
	failures failureLog
}

// New makes the service.
func New(base *base.Base, teams *teams.Service) *Service {
	return &Service{Base: base, teams: teams, guesses: newGuessLimiter(), hasher: newHasher()}
}

// Visitor is who asks to be let in: a browser that may have been here before.
type Visitor struct {
	Address netip.Addr   // where the request came from
	Client  netip.Prefix // what counts as one client
	Agent   string       // the browser, as it names itself
	Session string       // token of the session's cookie; empty: none
	Device  string       // token of the device's cookie; empty: none
}

// maxAgent is how much is kept of what a browser calls itself, in bytes.
const maxAgent = 200

// asUser has what is changed count as a person's doing, who is known only now.
func asUser(ctx context.Context, id string) context.Context {
	a := app.ActorOf(ctx)
	a.Type, a.Name, a.Label = app.ActorPerson, id, ""
	return app.WithActor(ctx, func() app.Actor { return a })
}
