package submission

import (
	"bytes"

	"github.com/emersion/go-sasl"

	"mailer/app"
)

const mechanismLogin = "LOGIN"

// login implements the mechanism LOGIN, which has no RFC (draft-murchison-sasl-login): it asks for
// the user name, which is ignored, and for the password.
type login struct {
	asked  int
	signIn func(password string) error
}

// Next handles a response of the peer; nil: none yet.
func (l *login) Next(response []byte) (challenge []byte, done bool, err error) {
	if response == nil && l.asked > 0 {
		return nil, false, errBadResponse
	}
	switch l.asked++; {
	case l.asked == 1 && response == nil:
		return []byte("Username:"), false, nil
	case l.asked == 1:
		l.asked++
		return []byte("Password:"), false, nil
	case l.asked == 2:
		return []byte("Password:"), false, nil
	}
	return nil, true, l.signIn(string(response))
}

// plain implements the mechanism PLAIN with SMTP's error replies.
type plain struct{ sasl.Server }

// Next handles a response of the peer.
func (p plain) Next(response []byte) (challenge []byte, done bool, err error) {
	if response != nil && bytes.Count(response, []byte{0}) != 2 {
		return nil, false, errBadResponse
	}
	return p.Server.Next(response)
}

// AuthMechanisms returns the mechanisms that are offered: none on a connection that others could
// read.
func (s *session) AuthMechanisms() []string {
	if !s.conn.Confidential() {
		return nil
	}
	return []string{sasl.Plain, mechanismLogin}
}

// Auth starts a mechanism.
func (s *session) Auth(mechanism string) (sasl.Server, error) {
	if !s.conn.Confidential() {
		return nil, errNeedsTLS
	}
	switch mechanism {
	case sasl.Plain:
		return plain{sasl.NewPlainServer(func(_, _, password string) error { return s.signIn(password) })}, nil
	case mechanismLogin:
		return &login{signIn: s.signIn}, nil
	}
	return nil, newReply(504, 5, 5, 4, "Only PLAIN and LOGIN are offered")
}

// signIn authenticates a password, which is an API key.
func (s *session) signIn(password string) error {
	token := s.server.tokenOf(password)
	key, err := s.server.cfg.API.SignIn(s.server.ctx, token, s.conn.Peer())
	if app.CodeOf(err) == app.CodeInvalidAPIKey && s.server.cfg.DefaultToken != "" {
		token = s.server.cfg.DefaultToken
		key, err = s.server.cfg.API.Recheck(s.server.ctx, token, s.conn.Peer())
	}
	switch app.CodeOf(err) {
	case app.CodeRateLimitExceeded:
		s.conn.CloseAfterReply()
		err = errTooManyGuesses
	case app.CodeInvalidAPIKey:
		err = errBadKey
	}
	if err != nil {
		return s.logRefusal("AUTH", err)
	}
	s.token, s.team = token, key.TeamID
	s.conn.SetSignedIn()
	return nil
}

// tokenOf returns the API key for a password: the default one, if that is configured and the
// password is no key.
func (s *Server) tokenOf(password string) string {
	if _, _, ok := app.ParseKey(password); !ok && s.cfg.DefaultToken != "" {
		return s.cfg.DefaultToken
	}
	return password
}
