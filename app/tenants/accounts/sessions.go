package accounts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// How long things last.
const (
	// SessionIdle ends a session that nobody uses, and SessionLife any.
	SessionIdle = 14 * 24 * time.Hour
	SessionLife = 90 * 24 * time.Hour
	// SecondFactorTimeout is how long a session waits for its second factor.
	SecondFactorTimeout = 5 * time.Minute
	// DeviceLife is how long a browser is known in which nobody signs in.
	DeviceLife = 400 * 24 * time.Hour
	// seenInterval is how exactly it is known when a session was last used.
	seenInterval = 5 * time.Minute
)

// NewSession is what somebody who signed in gets.
type NewSession struct {
	Token  string        // for the cookie; nothing keeps it
	Keep   time.Duration // how long the cookie is kept
	Device string        // for the cookie of the device; empty: it has one
	// Factors are the second factors of which one is still to come; none: the person is
	// signed in.
	Factors []string
	User    User
	Teams   []Membership
	// newDevice: the person signed in before, and never with this browser.
	newDevice bool
	id        string // of the session
}

// The second factors.
const (
	FactorTOTP    = "totp"
	FactorPasskey = "passkey"
)

// isAlive reports whether a session has not expired.
func isAlive(s *Session, now time.Time) bool {
	if s.Half {
		return now.Sub(s.CreatedAt) < SecondFactorTimeout
	}
	return now.Sub(s.SeenAt) < SessionIdle && now.Sub(s.CreatedAt) < SessionLife
}

// sessionState is a session as a request needs it.
type sessionState struct {
	session Session
	user    User
	team    Membership // none: no team
	factor  bool       // the person has a second factor
}

// SignedIn returns the person of a session's token as a key of a team by its id. No team:
// the only one of the person, where he is no operator, or a key without a team. half: the
// session may still wait for its second factor. What is kept of it is asked for each time.
// Errors: CodeInvalidCredentials, also for a team in which the person got another role since
// he last proved to be there; CodeNotFound for a team that the person does not belong to; CodeForbidden for one that demands a second factor which the person has not.
func (s *Service) SignedIn(ctx context.Context, token, team string, allowHalf bool) (*app.Key, error) {
	if !looksLikeSecret(token, tokenBytes) {
		return nil, app.SignedOut()
	}
	now := clock.Now()
	f, err := db.Get(ctx, s.DB, func(r *db.Reader) (sessionState, error) { return findSession(r, hashOf(token), team) })
	switch {
	case errors.Is(err, db.ErrNotFound) || err == nil && (!isAlive(&f.session, now) || f.session.Half && !allowHalf):
		return nil, app.SignedOut()
	case err != nil:
		return nil, base.Unavailable(err)
	}
	if now.Sub(f.session.SeenAt) >= seenInterval {
		s.touchSession(ctx, &f.session, now)
	}
	return f.key()
}

// findSession reads what a request needs of a session.
func findSession(r *db.Reader, hash []byte, team string) (f sessionState, err error) {
	if f.session, err = r.FindSession(hash); err != nil {
		return f, err
	}
	if f.user, err = r.User(f.session.UserID); err != nil {
		return f, err
	}
	totp, passkey, err := r.Factors(f.user.ID)
	if err != nil {
		return f, err
	}
	f.factor = totp || passkey
	f.team, err = teamOf(r, &f.user, team)
	if err == nil && !f.team.RoleSince.IsZero() && !f.session.ProvedAt.After(f.team.RoleSince) {
		return f, db.ErrNotFound // in this team the session has ended
	}
	if err == nil && team == "" && f.team.SecondFactor && !f.factor {
		f.team = Membership{} // he reaches what is his own, so that he can get one
	}
	return f, err
}

// teamOf returns what a person is in the team that he names.
func teamOf(r *db.Reader, u *User, team string) (m Membership, err error) {
	switch {
	case team != "":
		m, err = r.Membership(u.ID, team)
		if errors.Is(err, db.ErrNotFound) {
			return m, app.NoTeam()
		}
		return m, err
	case u.Operator:
		return m, nil
	}
	m, err = r.OnlyMembership(u.ID)
	return m, base.IgnoreNotFound(err)
}

// key is the person as what a key is.
func (f *sessionState) key() (*app.Key, error) {
	if f.team.SecondFactor && !f.factor {
		return nil, app.Errorf(app.CodeForbidden, "This team demands a second factor: turn one on for your account first")
	}
	return &app.Key{
		ID: f.user.ID, Name: f.user.Address, TeamID: f.team.TeamID, TeamName: f.team.TeamName, Role: f.team.Role,
		Permission: app.FullAccess, CreatedAt: f.session.CreatedAt,
		Session: &app.Session{ID: f.session.ID, Name: f.user.Address, Operator: f.user.Operator, AuthenticatedAt: f.session.ProvedAt},
	}, nil
}

// touchSession notes that a session was used. That it could not is no reason to refuse its
// person.
func (s *Service) touchSession(ctx context.Context, session *Session, now time.Time) {
	err := s.DB.Write(ctx, func(tx *db.Tx) error { return tx.TouchSession(session.ID, now.Add(-seenInterval)) })
	if err != nil && !errors.Is(err, db.ErrFull) && ctx.Err() == nil {
		s.LogUnlessUnavailable("a session's last use is not stored", err)
	}
}

// beginSession makes a session of a person, a half one where a second factor is to come, and ends
// the one that the browser had. It may stand in any Write.
func (s *Service) beginSession(tx *db.Tx, v *Visitor, u *User, factors []string) (n NewSession, err error) {
	token, hash := newSecret(tokenBytes)
	n = NewSession{Token: token, Keep: SessionLife, Factors: factors, User: *u}
	if err := endSession(tx, v.Session); err != nil {
		return n, err
	}
	row := Session{
		ID: app.NewID(), UserID: u.ID, Hash: hash, Half: len(factors) > 0, Device: agentOf(v), Address: addressOf(v),
		CreatedAt: tx.Now, SeenAt: tx.Now, ProvedAt: tx.Now,
	}
	if err := tx.InsertSession(&row); err != nil {
		return n, fmt.Errorf("keep a session: %w", err)
	}
	if row.Half {
		n.Keep = SecondFactorTimeout
		return n, nil
	}
	if n.Device, n.newDevice, err = rememberDevice(tx, v, u.ID); err != nil {
		return n, fmt.Errorf("remember a browser: %w", err)
	}
	n.Teams, err = tx.Memberships(u.ID)
	return n, err
}

// endSession ends the session of a token, where there is one.
func endSession(tx *db.Tx, token string) error {
	if token == "" {
		return nil
	}
	if err := tx.EndSessionOf(hashOf(token)); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// renewSession returns a session with another token, since it may do more from now on: whoever knew the
// old one must not gain by that. It goes on for as long as it would have.
func renewSession(tx *db.Tx, userID, id string) (n NewSession, err error) {
	old, err := tx.Session(userID, id)
	if err != nil {
		return n, err
	}
	if err := tx.EndSession(userID, id); err != nil {
		return n, err
	}
	next := old
	next.ID, next.SeenAt, next.ProvedAt = app.NewID(), tx.Now, tx.Now
	n.Token, next.Hash = newSecret(tokenBytes)
	n.Keep = SessionLife - tx.Now.Sub(old.CreatedAt)
	n.id = next.ID
	return n, tx.InsertSession(&next)
}

// rememberDevice notes that a person signed in with a browser. It returns the token for
// the browser's cookie, where it has none that is known: who brings one of his own making
// gets another; and whether it is a new one of somebody who has others.
func rememberDevice(tx *db.Tx, v *Visitor, userID string) (token string, isNew bool, err error) {
	hash := hashOf(v.Device)
	own, others, err := tx.Devices(userID, hash)
	if err != nil {
		return "", false, err
	}
	known := own
	if !own && looksLikeSecret(v.Device, tokenBytes) {
		if known, err = tx.KnowsDevice(hash); err != nil {
			return "", false, err
		}
	}
	if !known {
		token, hash = newSecret(tokenBytes)
	}
	return token, !own && others, tx.PutDevice(userID, hash)
}

// agentOf is what is kept of a browser's name for itself.
func agentOf(v *Visitor) string {
	agent := strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError || app.HasControl(string(r)) {
			return -1
		}
		return r
	}, v.Agent)
	for len(agent) > maxAgent {
		_, size := utf8.DecodeLastRuneInString(agent)
		agent = agent[:len(agent)-size]
	}
	return agent
}

func addressOf(v *Visitor) string {
	if !v.Address.IsValid() {
		return ""
	}
	return v.Address.String()
}

// SignOut ends the session of a token.
func (s *Service) SignOut(ctx context.Context, token string) error {
	return base.Unavailable(s.DB.WriteCritical(ctx, func(tx *db.Tx) error { return endSession(tx, token) }))
}

// Sessions returns a page of a person's sessions, newest first, and whether there are
// more. Errors: CodeValidation for a cursor that is none of them.
func (s *Service) Sessions(ctx context.Context, userID string, page app.Page) (rows []Session, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]Session, bool, error) { return r.Sessions(userID, page) })
	now, live := clock.Now(), rows[:0]
	for i := range rows {
		if isAlive(&rows[i], now) {
			live = append(live, rows[i])
		}
	}
	return live, more, base.Cursor(page, err)
}

// EndSession ends a session of a person. Errors: CodeNotFound.
func (s *Service) EndSession(ctx context.Context, userID, id string) error {
	return base.Lookup("session", s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		if err := tx.EndSession(userID, id); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "session.end", userID, nil, nil)
	}))
}

// EndOtherSessions ends all sessions of a person but one, and returns how many they were.
func (s *Service) EndOtherSessions(ctx context.Context, userID, except string) (n int64, err error) {
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) (err error) {
		if n, err = tx.EndSessions(userID, except); err != nil || n == 0 {
			return err
		}
		return base.Audit(ctx, tx, "", "session.end", userID, nil, map[string]any{"ended": n})
	})
	return n, base.Unavailable(err)
}

// Purge removes what has expired of sessions, codes, invitations and known browsers.
func (s *Service) Purge(ctx context.Context) error {
	err := s.InChunks(ctx, "invitations that expired", func(tx *db.Tx) (bool, error) { return tx.PurgeInvitations(tx.Now.Add(-mailWindow), base.PurgeChunk) })
	if err != nil {
		return err
	}
	return s.InChunks(ctx, "sessions that ended", func(tx *db.Tx) (bool, error) {
		return tx.PurgeSignIns(tx.Now.Add(-SessionIdle), tx.Now.Add(-SessionLife), tx.Now.Add(-SecondFactorTimeout), tx.Now.Add(-DeviceLife), base.PurgeChunk)
	})
}
