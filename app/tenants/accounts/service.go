// Package accounts implements who may sign in: users, sessions, second factors, invitations and
// roles in teams. API keys, which are for programs, are in package teams.
//
// Failure policy: a failed sign-in gets the same error after the same work, whatever was wrong. A
// change that ends sessions ends them in its own transaction.
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

// Membership is the role of a user in a team.
type Membership = db.Membership

// Session is a browser in which a user is signed in.
type Session = db.Session

// SendMailFunc accepts a mail of Mailer's own to a person, sent from a team's domain. The team must
// not be able to read the text, nor to stop the mail.
type SendMailFunc func(ctx context.Context, team, from, to, subject, text string) error

// Service implements users and sessions.
type Service struct {
	*base.Base
	// SendMail mails users about changes of their accounts; nil: no mail.
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

// Visitor is the browser of a request to sign in.
type Visitor struct {
	Address netip.Addr   // source address of the request
	Client  netip.Prefix // the network that counts as one client
	Agent   string       // User-Agent
	Session string       // token of the session cookie; empty: none
	Device  string       // token of the device cookie; empty: none
}

// maxAgent is how much of a User-Agent is stored, in bytes.
const maxAgent = 200

// asUser makes the user with an id the actor of audit entries.
func asUser(ctx context.Context, id string) context.Context {
	a := app.ActorOf(ctx)
	a.Type, a.Name, a.Label = app.ActorPerson, id, ""
	return app.WithActor(ctx, func() app.Actor { return a })
}
