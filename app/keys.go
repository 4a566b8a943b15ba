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

// Permission is what an API key may do.
type Permission string

// The two permissions.
const (
	FullAccess    Permission = "full_access"
	SendingAccess Permission = "sending_access"
)

// Role limits what a key or member may change in the team.
type Role string

// The roles, highest first.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
)

// rank orders the roles; 0 for an unknown role.
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

// Above reports whether r may do more than other.
func (r Role) Above(other Role) bool { return r.rank() > other.rank() }

// Manages reports whether r may change domains, webhooks and API keys. Members only read them.
func (r Role) Manages() bool { return !RoleAdmin.Above(r) }

// Key is the caller in one team: an API key without its secret, or a signed-in person, who has the
// rights of a key with full access.
type Key struct {
	ID         string // of the key or person
	TeamID     string
	TeamName   string
	Name       string
	Permission Permission
	Role       Role
	DomainID   string // empty: any domain of the team
	DomainName string
	Public     string
	Hash       []byte // SHA-256 of the secret
	CreatedAt  time.Time
	LastUsedAt time.Time      // zero: never; updated at most once a minute
	ExpiresAt  time.Time      // zero: never
	AllowedIPs []netip.Prefix // addresses that may use the key; empty: any
	CreatedBy  string         // id of the person or key that created it; empty: the command line
	Session    *Session       // of a person; nil: an API key
	Via        string         // how the request arrived if not by the API: one of mail.Sources
}

// Session is the sign-in of a person.
type Session struct {
	ID              string
	Name            string    // address of the person
	Operator        bool      // may act on all teams
	AuthenticatedAt time.Time // last proof of presence: password, code or passkey
}

// ReauthenticationAge is how long a proof of presence is valid for sensitive actions.
const ReauthenticationAge = 10 * time.Minute

// RecentlyAuthenticated reports whether the caller's proof of presence is recent enough for
// sensitive actions. An API key always is. The absolute difference is compared, so that a clock
// set back does not extend a proof.
func (k *Key) RecentlyAuthenticated(now time.Time) bool {
	return k.Session == nil || now.Sub(k.Session.AuthenticatedAt).Abs() <= ReauthenticationAge
}

// KeyInput is an API key to create.
type KeyInput struct {
	Name       string
	Permission Permission
	Role       Role
	Domain     string // by name; only with SendingAccess
	DomainID   string // by id; at most one of Domain and DomainID
	ExpiresAt  time.Time
	AllowedIPs []string // addresses and ranges
}

// CheckKeyName checks the name of a key: 1 to MaxKeyName characters, not only blanks, and no
// control characters, since terminals list keys too. Errors: CodeValidation.
func CheckKeyName(name string) error {
	if n := utf8.RuneCountInString(name); strings.TrimSpace(name) == "" || n > MaxKeyName {
		return Invalid("name", "must be 1 to %d characters long", MaxKeyName)
	}
	if HasHidden(name) {
		return Invalid("name", "must not contain control characters or invisible formatting")
	}
	return nil
}

// Validate checks the fields: name, permission and role, and that a domain is given only with
// sending_access. Errors: CodeValidation.
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

// NewKey creates a key. token is shown once; public and hash are stored.
func NewKey() (token, public string, hash []byte) {
	public = randomText(keyPublicLen)
	secret := randomText(keySecretLen)
	sum := sha256.Sum256([]byte(secret))
	return keyPrefix + public + "_" + secret, public, sum[:]
}

// Prefix returns the public beginning of the key's token, which identifies the key but does not
// authenticate.
func (k *Key) Prefix() string { return keyPrefix + k.Public }

// ParseKey splits a token into its public part and the hash of its secret. ok is false if it can't
// be a key of Mailer.
func ParseKey(token string) (public string, hash []byte, ok bool) {
	rest, found := strings.CutPrefix(token, keyPrefix)
	if !found || len(rest) != keyPublicLen+1+keySecretLen || rest[keyPublicLen] != '_' {
		return "", nil, false
	}
	sum := sha256.Sum256([]byte(rest[keyPublicLen+1:]))
	return rest[:keyPublicLen], sum[:], true
}

// Matches compares a hash with the stored one in constant time.
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

// Errors of authentication and authorization. Their messages are defined only here.

// MissingKey refuses a request without a key.
func MissingKey() *Error {
	return Errorf(CodeMissingAPIKey, "Missing API key in the authorization header")
}

// InvalidKey refuses an invalid token for whatever reason.
func InvalidKey() *Error { return Errorf(CodeInvalidAPIKey, "API key is invalid") }

// RestrictedKey refuses a sending-only key.
func RestrictedKey() *Error {
	return Errorf(CodeRestrictedAPIKey, "This API key is restricted to only send emails.")
}

// SessionRequired refuses an API key where a signed-in person is required.
func SessionRequired() *Error {
	return Errorf(CodeForbidden, "This answers to a person who is signed in, not to an API key")
}

// OperatorRequired refuses callers who are not signed in as an operator.
func OperatorRequired() *Error {
	return Errorf(CodeForbidden, "This answers to an operator who is signed in")
}

// SignedOut refuses an unknown or expired session.
func SignedOut() *Error { return Errorf(CodeInvalidCredentials, "You are not signed in") }

// NoTeam refuses a person who names no team, or a team without being its member.
func NoTeam() *Error {
	return Errorf(CodeNotFound, "You do not belong to this team, or there is none; the header x-team names one")
}

// ReauthenticationRequired refuses a person without a recent proof of presence.
func ReauthenticationRequired() *Error {
	return Errorf(CodeReauthentication, "Confirm first that it is you: POST /auth/confirm with your password, a code or a passkey")
}

// RoleTooLow refuses a key whose role may not make the change.
func RoleTooLow() *Error {
	return Errorf(CodeForbidden, "Your role does not allow this action")
}

// RoleAbove refuses a key that would manage a key of a higher role.
func RoleAbove(role Role) *Error {
	return Errorf(CodeForbidden, "Your role does not allow to manage a key of the role %s", role)
}

// ActorType is the kind of an actor.
type ActorType string

// The types: a command on the server's terminal, an API key, a signed-in person, and the server
// itself.
const (
	ActorCLI    ActorType = "cli"
	ActorKey    ActorType = "key"
	ActorPerson ActorType = "person"
	ActorServer ActorType = "server"
)

// Actor is the originator of a change.
type Actor struct {
	Type    ActorType
	Name    string // id of a key or person, or name of the system user
	Label   string // name of a key, address of a person; empty: unknown
	Address string // IP address; empty: not over the network
}

// AuditEntry is an entry of the audit log (db.Tx.InsertAudit).
type AuditEntry struct {
	ID     string
	TeamID string // empty: about the server
	Actor  Actor
	Action string // like "queue.drop"
	Target string // id or name of the changed object; empty: the server, or many
	Before string // JSON without secrets; empty: nothing
	After  string
	// CreatedAt and ActorName are set when an entry is read. ActorName is the name of a key or
	// person that still exists.
	CreatedAt time.Time
	ActorName string
}

type actorKey struct{}

// WithActor returns a context whose ActorOf calls who. A function is needed because a request has
// a context before its caller is known.
func WithActor(ctx context.Context, who func() Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, who)
}

type clientWaitingKey struct{}

// WithClientWaiting marks the context of a request: a client waits for the result and prefers a
// quick error to a long wait.
func WithClientWaiting(ctx context.Context) context.Context {
	return context.WithValue(ctx, clientWaitingKey{}, true)
}

// IsClientWaiting reports whether a context is marked by WithClientWaiting.
func IsClientWaiting(ctx context.Context) bool { return ctx.Value(clientWaitingKey{}) != nil }

// ActorOf returns the actor of a context, or the server itself if none is set.
func ActorOf(ctx context.Context) Actor {
	if who, ok := ctx.Value(actorKey{}).(func() Actor); ok {
		return who()
	}
	return Actor{Type: ActorServer, Name: "server"}
}

// Description names the actor in a sentence for members of the team.
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
