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

// Lifetimes.
const (
	// SessionIdle ends an unused session, and SessionLife any session.
	SessionIdle = 14 * 24 * time.Hour
	SessionLife = 90 * 24 * time.Hour
	// SecondFactorTimeout is how long a session waits for its second factor.
	SecondFactorTimeout = 5 * time.Minute
	// DeviceLife is how long a browser stays known without a sign-in.
	DeviceLife = 400 * 24 * time.Hour
	// seenInterval is the accuracy of the last use of a session.
	seenInterval = 5 * time.Minute
)

// NewSession is the result of a sign-in.
type NewSession struct {
	Token  string        // for the cookie; stored only hashed
	Keep   time.Duration // lifetime of the cookie
	Device string        // for the device cookie; empty: the browser has one
	// Factors are the second factors of which one is still required; empty: the user is signed in.
	Factors []string
	User    User
	Teams   []Membership
	// newDevice: the user signed in before, but never with this browser.
	newDevice bool
	id        string // of the session
}

// Second factors.
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

// sessionState is a session with what a request needs of its user.
type sessionState struct {
	session Session
	user    User
	team    Membership // zero: no team
	factor  bool       // the user has a second factor
}

// SignedIn returns the user of a session token as a key of a team. An empty team selects the only
// team of a user who is no operator, else the key has no team. allowHalf accepts a session that
// still waits for its second factor. The database is read each time. Errors:
// CodeInvalidCredentials, also for a team in which the user's role changed after the last
// reauthentication of the session; CodeNotFound for a team that the user is no member of;
// CodeForbidden for a team that requires a second factor if the user has none.
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

// findSession reads the state of a session.
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
		return f, db.ErrNotFound // the session has no access to this team
	}
	if err == nil && team == "" && f.team.SecondFactor && !f.factor {
		f.team = Membership{} // the user's own settings stay accessible, where he can add a factor
	}
	return f, err
}

// teamOf returns the membership of a user in the team that he names.
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

// key returns the session as an API key.
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

// touchSession stores the last use of a session. A failure does not fail the request.
func (s *Service) touchSession(ctx context.Context, session *Session, now time.Time) {
	err := s.DB.Write(ctx, func(tx *db.Tx) error { return tx.TouchSession(session.ID, now.Add(-seenInterval)) })
	if err != nil && !errors.Is(err, db.ErrFull) && ctx.Err() == nil {
		s.LogUnlessUnavailable("a session's last use is not stored", err)
	}
}

// beginSession makes a session inside a Write, pending a second factor if factors is not empty. It
// ends the previous session of the browser.
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
		return n, fmt.Errorf("store a session: %w", err)
	}
	if row.Half {
		n.Keep = SecondFactorTimeout
		return n, nil
	}
	if n.Device, n.newDevice, err = rememberDevice(tx, v, u.ID); err != nil {
		return n, fmt.Errorf("store a device: %w", err)
	}
	n.Teams, err = tx.Memberships(u.ID)
	return n, err
}

// endSession ends the session of a token, if there is one.
func endSession(tx *db.Tx, token string) error {
	if token == "" {
		return nil
	}
	if err := tx.EndSessionOf(hashOf(token)); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// renewSession replaces the token of a session that gains rights, so that the old token does not
// gain them. The expiry stays.
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

// rememberDevice stores that a user signed in with a browser. It returns a token for the device
// cookie if the browser has no known one; an unknown token is replaced. isNew: the browser is new,
// and the user has others.
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

// agentOf returns the stored form of a User-Agent.
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

// Sessions returns a page of a user's sessions, newest first, and whether there are more. Errors:
// CodeValidation for an unknown cursor.
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

// EndSession ends a session of a user. Errors: CodeNotFound.
func (s *Service) EndSession(ctx context.Context, userID, id string) error {
	return base.Lookup("session", s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		if err := tx.EndSession(userID, id); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "session.end", userID, nil, nil)
	}))
}

// EndOtherSessions ends all sessions of a user except one and returns how many ended.
func (s *Service) EndOtherSessions(ctx context.Context, userID, except string) (n int64, err error) {
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) (err error) {
		if n, err = tx.EndSessions(userID, except); err != nil || n == 0 {
			return err
		}
		return base.Audit(ctx, tx, "", "session.end", userID, nil, map[string]any{"ended": n})
	})
	return n, base.Unavailable(err)
}

// Purge removes expired sessions, codes, invitations and known browsers.
func (s *Service) Purge(ctx context.Context) error {
	err := s.InChunks(ctx, "invitations that expired", func(tx *db.Tx) (bool, error) { return tx.PurgeInvitations(tx.Now.Add(-mailWindow), base.PurgeChunk) })
	if err != nil {
		return err
	}
	return s.InChunks(ctx, "sessions that ended", func(tx *db.Tx) (bool, error) {
		return tx.PurgeSignIns(tx.Now.Add(-SessionIdle), tx.Now.Add(-SessionLife), tx.Now.Add(-SecondFactorTimeout), tx.Now.Add(-DeviceLife), base.PurgeChunk)
	})
}
