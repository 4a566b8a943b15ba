package accounts

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// Passkey is a passkey of a user.
type Passkey = db.Passkey

// PasskeyService implements sign-in without a password.
type PasskeyService struct {
	*base.Base
	accounts *Service
}

// NewPasskeys makes the passkey service for the accounts of a Service.
func NewPasskeys(accounts *Service) *PasskeyService {
	return &PasskeyService{Base: accounts.Base, accounts: accounts}
}

// Purposes of challenges. A challenge is valid only for its own purpose.
const (
	addPasskey    = "add passkey"
	signInPasskey = "sign in by passkey"
)

// webauthnUser is a user as the WebAuthn library needs one.
type webauthnUser struct {
	user        User
	credentials []webauthn.Credential
}

// WebAuthnID implements webauthn.User.
func (h *webauthnUser) WebAuthnID() []byte { return []byte(h.user.ID) }

// WebAuthnName implements webauthn.User.
func (h *webauthnUser) WebAuthnName() string { return h.user.Address }

// WebAuthnDisplayName implements webauthn.User.
func (h *webauthnUser) WebAuthnDisplayName() string {
	if h.user.Name == "" {
		return h.user.Address
	}
	return h.user.Name
}

// WebAuthnCredentials implements webauthn.User.
func (h *webauthnUser) WebAuthnCredentials() []webauthn.Credential { return h.credentials }

func (s *PasskeyService) webauthnUser(ctx context.Context, userID string) (h *webauthnUser, err error) {
	h = &webauthnUser{}
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if h.user, err = r.User(userID); err != nil {
			return err
		}
		keys, err := r.Passkeys(userID)
		h.credentials = make([]webauthn.Credential, len(keys))
		for i := range keys {
			if err := json.Unmarshal([]byte(keys[i].Credential), &h.credentials[i]); err != nil {
				return fmt.Errorf("read a passkey: %w", err)
			}
		}
		return err
	})
	return h, err
}

// relyingParty returns this server as the WebAuthn relying party. Errors: CodeConflict without a
// host name that a passkey can be bound to.
func (s *PasskeyService) relyingParty() (*webauthn.WebAuthn, error) {
	u, err := url.Parse(s.Settings.BaseURL)
	if err == nil && u.Hostname() == "" {
		err = errors.New("the address of this server has no host")
	}
	if err == nil {
		var w *webauthn.WebAuthn
		w, err = webauthn.New(&webauthn.Config{RPID: strings.ToLower(u.Hostname()), RPDisplayName: "Mailer", RPOrigins: []string{u.Scheme + "://" + u.Host}})
		if err == nil {
			return w, nil
		}
	}
	return nil, &app.Error{Code: app.CodeConflict, Message: "Passkeys are bound to a host's name: start mailer serve with the --base-url https://… under which it is reached", Err: err}
}

const (
	challengeNonce = 16
	challengeSize  = challengeNonce + 8
)

// challenge returns a challenge for a passkey to sign: random bytes and an expiry, with a MAC, so
// that the server stores nothing for unauthenticated callers.
func (s *PasskeyService) challenge(purpose, userID string, now time.Time) protocol.URLEncodedBase64 {
	b := make([]byte, challengeSize)
	_, _ = rand.Read(b[:challengeNonce]) // never fails
	binary.BigEndian.PutUint64(b[challengeNonce:], uint64(now.Add(SecondFactorTimeout).UnixMilli()))
	return append(b, s.Sealer.MAC(purpose, append(b[:challengeSize:challengeSize], userID...))...)
}

// checkChallenge returns when a challenge was made. ok is false for a challenge of another server,
// for another purpose or user, and for an expired one.
func (s *PasskeyService) checkChallenge(purpose, userID, text string, now time.Time) (made time.Time, ok bool) {
	b, err := app.DecodeToken(text)
	if err != nil || len(b) != challengeSize+app.MacSize {
		return made, false
	}
	end := time.UnixMilli(int64(binary.BigEndian.Uint64(b[challengeNonce:])))
	ours := s.Sealer.VerifyMAC(purpose, append(b[:challengeSize:challengeSize], userID...), b[challengeSize:])
	return end.Add(-SecondFactorTimeout), ours && now.Before(end)
}

// PasskeyOptions returns the options with which a browser makes a passkey. Errors: CodeConflict.
func (s *PasskeyService) PasskeyOptions(ctx context.Context, key *app.Key) (any, error) {
	w, err := s.relyingParty()
	if err != nil {
		return nil, err
	}
	h, err := s.webauthnUser(ctx, key.ID)
	if err != nil {
		return nil, signedOut(err)
	}
	creation, _, err := w.BeginRegistration(h,
		webauthn.WithExclusions(webauthn.Credentials(h.credentials).CredentialDescriptors()),
		webauthn.WithAuthenticatorSelection(protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		}))
	if err != nil {
		return nil, fmt.Errorf("offer to make a passkey: %w", err)
	}
	creation.Response.Challenge = s.challenge(addPasskey, key.ID, clock.Now())
	return creation, nil
}

// AddPasskey stores a passkey that a browser made. If it is the first second factor, codes are
// recovery codes, which are stored only hashed. Errors: CodeValidation, CodeConflict.
func (s *PasskeyService) AddPasskey(ctx context.Context, key *app.Key, name string, answer []byte) (p Passkey, codes []string, err error) {
	if err := CheckUserName(name); err != nil {
		return p, nil, err
	}
	credential, err := s.checkNewPasskey(ctx, key, answer)
	if err != nil {
		return p, nil, err
	}
	text, err := json.Marshal(credential)
	if err != nil {
		return p, nil, fmt.Errorf("encode a passkey: %w", err)
	}
	p = Passkey{ID: app.NewID(), UserID: key.ID, CredentialID: credential.ID, Name: strings.TrimSpace(name), Credential: string(text), CreatedAt: clock.Now()}
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		codes, err = s.insertPasskey(ctx, tx, &p)
		return err
	})
	return p, codes, base.Unavailable(err)
}

func (s *PasskeyService) checkNewPasskey(ctx context.Context, key *app.Key, answer []byte) (*webauthn.Credential, error) {
	w, err := s.relyingParty()
	if err != nil {
		return nil, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return nil, errBadPasskey(err)
	}
	challenge := parsed.Response.CollectedClientData.Challenge
	if _, ok := s.checkChallenge(addPasskey, key.ID, challenge, clock.Now()); !ok {
		return nil, errBadPasskey(errors.New("the challenge is unknown or has expired"))
	}
	h, err := s.webauthnUser(ctx, key.ID)
	if err != nil {
		return nil, signedOut(err)
	}
	credential, err := w.CreateCredential(h, webauthn.SessionData{
		Challenge: challenge, UserID: h.WebAuthnID(), UserVerification: protocol.VerificationRequired, CredParams: webauthn.CredentialParametersDefault(),
	}, parsed)
	if err != nil {
		return nil, errBadPasskey(err)
	}
	return credential, nil
}

// errBadPasskey refuses a browser's response for a new passkey.
func errBadPasskey(err error) error {
	return &app.Error{Code: app.CodeValidation, Message: "The browser's answer is not that of a passkey for this server; begin again", Err: err}
}

func (s *PasskeyService) insertPasskey(ctx context.Context, tx *db.Tx, p *Passkey) (codes []string, err error) {
	existing, err := tx.Passkeys(p.UserID)
	if err != nil {
		return nil, err
	}
	if len(existing) >= db.MaxPasskeys {
		return nil, app.Errorf(app.CodeConflict, "You have %d passkeys; remove one that is not used any more", len(existing))
	}
	codesLeft, err := tx.CountRecoveryCodes(p.UserID)
	if err == nil && codesLeft == 0 {
		var hashes [][]byte
		codes, hashes = newRecoveryCodes()
		err = tx.SetRecoveryCodes(p.UserID, hashes)
	}
	if err != nil {
		return nil, err
	}
	if err := tx.InsertPasskey(p); errors.Is(err, db.ErrConflict) {
		return nil, app.Errorf(app.CodeConflict, "This passkey is there already")
	} else if err != nil {
		return nil, err
	}
	return codes, base.Audit(ctx, tx, "", "passkey.add", p.UserID, nil, map[string]any{"id": p.ID, "name": p.Name})
}

// Passkeys returns the passkeys of a user, newest first.
func (s *PasskeyService) Passkeys(ctx context.Context, userID string) (keys []Passkey, err error) {
	keys, err = db.Get(ctx, s.DB, func(r *db.Reader) ([]Passkey, error) { return r.Passkeys(userID) })
	return keys, base.Unavailable(err)
}

// DeletePasskey removes a passkey of a user. Errors: CodeNotFound.
func (s *PasskeyService) DeletePasskey(ctx context.Context, key *app.Key, id string) error {
	var u User
	factorsLeft := 0
	err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if u, err = tx.User(key.ID); err != nil {
			return err
		}
		if err := tx.DeletePasskey(key.ID, id); err != nil {
			return err
		}
		factors, err := factorsOf(&tx.Reader, key.ID)
		if factorsLeft = len(factors); err != nil {
			return err
		}
		if err := dropUselessCodes(tx, key.ID); err != nil {
			return err
		}
		return base.Audit(ctx, tx, "", "passkey.remove", key.ID, map[string]any{"id": id}, nil)
	})
	if err == nil && factorsLeft == 0 {
		s.accounts.mailFactorOff(ctx, &u)
	}
	return base.Lookup("passkey", err)
}

// SignInOptions returns the options with which a browser signs in with any passkey. Errors:
// CodeConflict.
func (s *PasskeyService) SignInOptions() (any, error) {
	w, err := s.relyingParty()
	if err != nil {
		return nil, err
	}
	assertion, _, err := w.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, fmt.Errorf("offer to sign in by passkey: %w", err)
	}
	assertion.Response.Challenge = s.challenge(signInPasskey, "", clock.Now())
	return assertion, nil
}

// SignInByPasskey signs in with a passkey alone, which is two factors: the device, and what unlocks
// the device. Errors: CodeInvalidCredentials, CodeRateLimitExceeded.
func (s *PasskeyService) SignInByPasskey(ctx context.Context, v *Visitor, answer []byte) (n NewSession, err error) {
	g, err := s.passkeyGuesser(ctx, v)
	if err != nil {
		return n, err
	}
	err = s.accounts.guesses.run(ctx, g, func() error {
		h, credential, asked, err := s.checkPasskey(ctx, answer)
		if err != nil {
			return err
		}
		text, err := json.Marshal(credential)
		if err != nil {
			return fmt.Errorf("encode a passkey: %w", err)
		}
		return s.DB.Write(ctx, func(tx *db.Tx) error {
			err := tx.UsePasskey(h.user.ID, credential.ID, string(text), asked)
			if errors.Is(err, db.ErrNotFound) {
				return errWrongPasskey(err)
			}
			if err != nil {
				return err
			}
			n, err = s.accounts.beginSession(tx, v, &h.user, nil)
			return err
		})
	})
	if err == nil {
		s.accounts.mailNewDevice(ctx, v, &n)
	}
	s.accounts.recordFailure(ctx, &signInAttempt{visitor: v, account: byPasskey, method: byPasskey}, err)
	return n, base.Unavailable(err)
}

// passkeyGuesser returns the guesser of a sign-in with a passkey, whose user is not known yet. A
// browser that was used to sign in before is not slowed by others.
func (s *PasskeyService) passkeyGuesser(ctx context.Context, v *Visitor) (guesser, error) {
	g := guesser{client: v.Client, account: "passkey"}
	if !looksLikeSecret(v.Device, tokenBytes) {
		return g, nil
	}
	known, err := db.Get(ctx, s.DB, func(r *db.Reader) (bool, error) { return r.KnowsDevice(hashOf(v.Device)) })
	if known {
		g.known = hex.EncodeToString(hashOf(v.Device))
	}
	return g, base.Unavailable(err)
}

// checkPasskey verifies a browser's response. It returns the user, the updated credential, and when
// the challenge was made.
func (s *PasskeyService) checkPasskey(ctx context.Context, answer []byte) (found *webauthnUser, credential *webauthn.Credential, asked time.Time, err error) {
	w, err := s.relyingParty()
	if err != nil {
		return nil, nil, asked, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return nil, nil, asked, errWrongPasskey(err)
	}
	challenge := parsed.Response.CollectedClientData.Challenge
	asked, ok := s.checkChallenge(signInPasskey, "", challenge, clock.Now())
	if !ok {
		return nil, nil, asked, errWrongPasskey(errors.New("the challenge is unknown or has expired"))
	}
	credential, err = w.ValidateDiscoverableLogin(func(_, userHandle []byte) (webauthn.User, error) {
		found, err = s.webauthnUser(ctx, string(userHandle))
		return found, err
	}, webauthn.SessionData{Challenge: challenge, UserVerification: protocol.VerificationRequired}, parsed)
	switch {
	case err != nil:
		return nil, nil, asked, errWrongPasskey(err)
	case credential.Authenticator.CloneWarning:
		return nil, nil, asked, errWrongPasskey(errors.New("the signature counter went back: the passkey may be cloned"))
	}
	return found, credential, asked, nil
}

// errWrongPasskey is the only error for an invalid passkey.
func errWrongPasskey(err error) error {
	return &app.Error{Code: app.CodeInvalidCredentials, Message: "This passkey does not count here", Err: err}
}
