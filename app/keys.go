package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"
)

// Permission says what an API key may do.
type Permission string

// The two permissions.
const (
	FullAccess    Permission = "full_access"
	SendingAccess Permission = "sending_access"
)

// Role is what the holder of a key may change within the team.
type Role string

// The roles, highest first.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
)

// rank orders the roles; 0 for what is none.
func (r Role) rank() int {
	switch r {
	case RoleOwner:
		return 3
	case RoleAdmin:
		return 2
	case RoleMember:
		return 1
	}
	return 0
}

// Above says whether r may do more than other.
func (r Role) Above(other Role) bool { return r.rank() > other.rank() }

// Manages says whether r may change domains, webhooks and API keys, which
// members only read.
func (r Role) Manages() bool { return !RoleAdmin.Above(r) }

// Key is who asks, in one team: an API key as it is kept, never the secret itself; or a
// person who is signed in, whose rights there are those of a key with full access.
type Key struct {
	ID         string // of the key, or of the person
	TeamID     string
	TeamName   string
	Name       string
	Permission Permission
	Role       Role
	DomainID   string // empty: may send from every domain of the team
	DomainName string
	Public     string
	Hash       []byte // SHA-256 of the secret part
	CreatedAt  time.Time
	LastUsedAt time.Time      // zero: never; written at most once a minute
	ExpiresAt  time.Time      // from then on it is no key; zero: never
	AllowedIPs []netip.Prefix // whose addresses may use it; none: any
	CreatedBy  string         // id of the person who made it, or the key that made it; empty: the command line
	Session    *Session       // of a person; nil: an API key
	Via        string         // the door that a request came through, where that is not the API itself: one of mail.Sources
}

// Session is what a person is beyond a key.
type Session struct {
	ID              string
	Name            string    // of the person: the address
	Operator        bool      // stands above teams
	AuthenticatedAt time.Time // when the person last proved to be there
}

// ReauthenticationAge is how long a proof to be there counts for what needs one.
const ReauthenticationAge = 10 * time.Minute

// RecentlyAuthenticated says whether who asks has proved lately enough to be there; an API key is its own
// proof. A clock that was put back makes no proof last longer.
func (k *Key) RecentlyAuthenticated(now time.Time) bool {
	return k.Session == nil || now.Sub(k.Session.AuthenticatedAt).Abs() <= ReauthenticationAge
}

// KeyInput is what a caller says of a new key.
type KeyInput struct {
	Name       string
	Permission Permission
	Role       Role
	Domain     string // name; only with SendingAccess
	DomainID   string // the same by its id; at most one of them
	ExpiresAt  time.Time
	AllowedIPs []string // ranges of addresses, and addresses
}

// MaxKeyName is how long the name of a key may be, in characters.
const MaxKeyName = 50

// CheckKeyName checks the name of a key: 1 to 50 characters, not all of them
// blank and none a control character, since keys are listed on terminals too.
// Errors: CodeValidation.
func CheckKeyName(name string) error {
	if n := utf8.RuneCountInString(name); strings.TrimSpace(name) == "" || n > MaxKeyName {
		return Invalid("name", "must be 1 to %d characters long", MaxKeyName)
	}
	if HasHidden(name) {
		return Invalid("name", "must not contain control characters or invisible formatting")
	}
	return nil
}

// Validate checks the fields: the name as CheckKeyName does, permission and role
// of their lists, a domain only with sending_access. Errors: CodeValidation.
func (in *KeyInput) Validate() error {
	if err := CheckKeyName(in.Name); err != nil {
		return err
	}
	switch in.Permission {
	case FullAccess, SendingAccess:
	default:
		return Invalid("permission", "must be full_access or sending_access")
	}
	switch in.Role {
	case RoleOwner, RoleAdmin, RoleMember:
	default:
		return Invalid("role", "must be owner, admin or member")
	}
	if in.Domain != "" && in.Permission != SendingAccess {
		return Invalid("domain", "can be given only with permission sending_access")
	}
	if in.DomainID == "" {
		return nil
	}
	if in.Permission != SendingAccess {
		return Invalid("domain_id", "can be given only with permission sending_access")
	}
	id, ok := ParseID(in.DomainID)
	if !ok {
		return Invalid("domain_id", "must be the id of a domain")
	}
	in.DomainID = id
	return nil
}

const (
	keyPrefix    = "mlr_"
	keyPublicLen = 16
	keySecretLen = 43 // 62^43 > 2^256
	alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// NewKey makes a key: the token to show once, and the public part and hash to
// keep.
func NewKey() (token, public string, hash []byte) {
	public = randomText(keyPublicLen)
	secret := randomText(keySecretLen)
	sum := sha256.Sum256([]byte(secret))
	return keyPrefix + public + "_" + secret, public, sum[:]
}

// Prefix is what the key's token begins with: it names the key and opens nothing.
func (k *Key) Prefix() string { return keyPrefix + k.Public }

// ParseKey splits a token into its public part and the hash of its secret. It
// answers false for anything that cannot be a key of ours.
func ParseKey(token string) (public string, hash []byte, ok bool) {
	rest, found := strings.CutPrefix(token, keyPrefix)
	if !found || len(rest) != keyPublicLen+1+keySecretLen || rest[keyPublicLen] != '_' {
		return "", nil, false
	}
	sum := sha256.Sum256([]byte(rest[keyPublicLen+1:]))
	return rest[:keyPublicLen], sum[:], true
}

// Matches compares a presented hash with the kept one in constant time.
func (k *Key) Matches(hash []byte) bool {
	return subtle.ConstantTimeCompare(k.Hash, hash) == 1
}

// randomText returns n characters of [0-9A-Za-z], each equally likely.
func randomText(n int) string {
	out := make([]byte, 0, n)
	buf := make([]byte, 2*n)
	for {
		_, _ = rand.Read(buf) // never fails: crypto/rand aborts the program instead
		for _, b := range buf {
			if b < 4*62 {
				out = append(out, alphanumeric[b%62])
				if len(out) == n {
					return string(out)
				}
			}
		}
	}
}

// Why a request is refused for its key: these words stand nowhere else.

// MissingKey refuses a request without a key.
func MissingKey() *Error {
	return Errorf(CodeMissingAPIKey, "Missing API key in the authorization header")
}

// InvalidKey refuses a token that is no key, whatever is wrong with it.
func InvalidKey() *Error { return Errorf(CodeInvalidAPIKey, "API key is invalid") }

// RestrictedKey refuses a key that may only send.
func RestrictedKey() *Error {
	return Errorf(CodeRestrictedAPIKey, "This API key is restricted to only send emails.")
}

// SessionRequired refuses an API key where only a person who is signed in gets an answer.
func SessionRequired() *Error {
	return Errorf(CodeForbidden, "This answers to a person who is signed in, not to an API key")
}

// OperatorRequired refuses whoever is not signed in as an operator.
func OperatorRequired() *Error {
	return Errorf(CodeForbidden, "This answers to an operator who is signed in")
}

// SignedOut refuses a session that is none, or has ended.
func SignedOut() *Error { return Errorf(CodeInvalidCredentials, "You are not signed in") }

// NoTeam refuses a person who names no team, or one that he does not belong to.
func NoTeam() *Error {
	return Errorf(CodeNotFound, "You do not belong to this team, or there is none; the header x-team names one")
}

// ReauthenticationRequired refuses a person who has not proved lately to be there.
func ReauthenticationRequired() *Error {
	return Errorf(CodeReauthentication, "Confirm first that it is you: POST /auth/confirm with your password, a code or a passkey")
}

// RoleTooLow refuses a key whose role may only read what it asks to change.
func RoleTooLow() *Error {
	return Errorf(CodeForbidden, "Your role does not allow this action")
}

// RoleAbove refuses a key that would manage one of a higher role.
func RoleAbove(role Role) *Error {
	return Errorf(CodeForbidden, "Your role does not allow to manage a key of the role %s", role)
}

// ActorType says what kind of caller changes something.
type ActorType string

// The types: a command on the server's terminal, an API key, a person who is signed in,
// and the server by itself.
const (
	ActorCLI    ActorType = "cli"
	ActorKey    ActorType = "key"
	ActorPerson ActorType = "person"
	ActorServer ActorType = "server"
)

// Actor is who changes something.
type Actor struct {
	Type    ActorType
	Name    string // id of a key or person, name of the system's user
	Label   string // name of a key, address of a person; empty: not known
	Address string // IP address; empty: not over the network
}

// AuditEntry is a change that stays known: see db.Tx.InsertAudit.
type AuditEntry struct {
	ID     string
	TeamID string // empty: it is about the server
	Actor  Actor
	Action string // like "queue.drop"
	Target string // id or name of what was changed; empty: the server, or many
	Before string // JSON without secrets; empty: nothing to say
	After  string
	// CreatedAt is set where an entry is read; so is ActorName, of a key or person that is
	// still there.
	CreatedAt time.Time
	ActorName string
}

type actorKey struct{}

// WithActor returns a context whose ActorOf asks who: a request learns its caller only
// after it has a context.
func WithActor(ctx context.Context, who func() Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, who)
}

type clientWaitingKey struct{}

// WithClientWaiting returns the context of a request: somebody waits for what is done in it, and rather
// hears soon that it can't be done now.
func WithClientWaiting(ctx context.Context) context.Context {
	return context.WithValue(ctx, clientWaitingKey{}, true)
}

// IsClientWaiting reports whether a context is one of Awaited.
func IsClientWaiting(ctx context.Context) bool { return ctx.Value(clientWaitingKey{}) != nil }

// ActorOf returns who acts in a context: the server itself where nobody else does.
func ActorOf(ctx context.Context) Actor {
	if who, ok := ctx.Value(actorKey{}).(func() Actor); ok {
		return who()
	}
	return Actor{Type: ActorServer, Name: "server"}
}

// Description name an actor in a sentence that teams read.
func (a Actor) Description() string {
	switch a.Type {
	case ActorCLI:
		return "the operator"
	case ActorKey:
		return "the API key " + cmp.Or(a.Label, a.Name)
	case ActorPerson:
		return cmp.Or(a.Label, "the person "+a.Name)
	}
	return "the server"
}
