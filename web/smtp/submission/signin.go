package submission

import (
	"bytes"

	"github.com/emersion/go-sasl"

	"mailer/app"
)

const mechanismLogin = "LOGIN"

// login is the mechanism LOGIN, which has no RFC of its own (draft-murchison-sasl-login):
// it asks for the user name, which counts for nothing here, and then for the password.
type login struct {
	asked  int
	signIn func(password string) error
}

// Next takes an answer of the peer; nil: it sent none yet.
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

// plain is the mechanism PLAIN, whose faults are answered as SMTP wants it.
type plain struct{ sasl.Server }

// Next takes an answer of the peer.
func (p plain) Next(response []byte) (challenge []byte, done bool, err error) {
	if response != nil && bytes.Count(response, []byte{0}) != 2 {
		return nil, false, errBadResponse
	}
	return p.Server.Next(response)
}

// AuthMechanisms are what may be used here: nothing where others could read the key.
func (s *session) AuthMechanisms() []string {
	if !s.wire.private() {
		return nil
	}
	return []string{sasl.Plain, mechanismLogin}
}

// Auth begins a mechanism.
func (s *session) Auth(mechanism string) (sasl.Server, error) {
	if !s.wire.private() {
		return nil, errNeedsTLS
	}
	switch mechanism {
	case sasl.Plain:
		return plain{sasl.NewPlainServer(func(_, _, password string) error { return s.signIn(password) })}, nil
	case mechanismLogin:
		return &login{signIn: s.signIn}, nil
	}
	return nil, refuse(504, 5, 5, 4, "Only PLAIN and LOGIN are offered")
}

// signIn finds the key that a password is.
func (s *session) signIn(password string) error {
	token := s.server.tokenOf(password)
	key, err := s.server.cfg.API.SignIn(s.server.ctx, token, s.wire.peer())
	if app.CodeOf(err) == app.CodeInvalidAPIKey && s.server.cfg.Anybody != "" {
		token = s.server.cfg.Anybody
		key, err = s.server.cfg.API.Standing(s.server.ctx, token, s.wire.peer())
	}
	switch app.CodeOf(err) {
	case app.CodeRateLimitExceeded:
		s.wire.End()
		err = errTooManyGuesses
	case app.CodeInvalidAPIKey:
		err = errBadKey
	}
	if err != nil {
		return s.refused("AUTH", err)
	}
	s.token, s.team = token, key.TeamID
	s.wire.Trust()
	return nil
}

// tokenOf is the API key that a password is, or stands for where anybody may hand in.
func (s *Server) tokenOf(password string) string {
	if _, _, ok := app.ParseKey(password); !ok && s.cfg.Anybody != "" {
		return s.cfg.Anybody
	}
	return password
}
