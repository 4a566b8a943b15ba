// Package bounce classifies bounces: why a message was not delivered, and whether its recipient
// may get further mail. Delivery reports, provider events and relay replies are classified by the
// same tables: enhanced status codes (RFC 3463) in codes.go, phrases of mail servers in
// phrases.go, and Classify, which combines them.
//
// In doubt a recipient keeps getting mail: only the class Hard suppresses. The package does no I/O
// and keeps no state. Classification takes linear time.
package bounce

import "mailer/app"

// Class is what a bounce means for further mail to the recipient.
type Class string

// The classes.
const (
	Hard    Class = "hard"    // mail can't be delivered: the address is suppressed
	Soft    Class = "soft"    // temporary: a full mailbox, a rate, a server that is down
	Blocked Class = "blocked" // about the message or its sender: policy, reputation, content
	Unknown Class = "unknown" // the reason is unknown
)

// Reason is why a message was not delivered.
type Reason string

// The reasons.
const (
	NoMailbox      Reason = "no_mailbox"
	Disabled       Reason = "disabled"
	Moved          Reason = "moved"
	BadAddress     Reason = "bad_address"
	NoDomain       Reason = "no_domain" // the domain does not exist, by an enhanced code
	NullMX         Reason = "null_mx"   // the domain accepts no mail (RFC 7505)
	ProviderList   Reason = "provider_list"
	Full           Reason = "full"
	Rate           Reason = "rate" // too much mail in a short time
	Greylisted     Reason = "greylisted"
	TooLarge       Reason = "too_large"
	Expired        Reason = "expired"     // tried until it expired
	Unreachable    Reason = "unreachable" // DNS, routing, connection
	Temporary      Reason = "temporary"
	Spam           Reason = "spam" // including reputation and blocklists
	Authentication Reason = "authentication"
	Content        Reason = "content"
	Sender         Reason = "sender" // the sender's address or domain
	Relaying       Reason = "relaying"
	Policy         Reason = "policy"
	Protocol       Reason = "protocol"
	NoReason       Reason = "unknown"
)

// meaning is the meaning of a reason. bounce and subType are Amazon SES's terms, which events and
// webhooks use.
type meaning struct {
	class       Class
	bounce      app.BounceType
	subType     string
	description string
}

// The subtypes of a bounce.
const (
	General         = "General"
	NoEmail         = "NoEmail"
	MailboxFull     = "MailboxFull"
	MessageTooLarge = "MessageTooLarge"
	ContentRejected = "ContentRejected"
)

var meanings = map[Reason]meaning{
	NoMailbox:      {Hard, app.BouncePermanent, NoEmail, "the mailbox does not exist"},
	Disabled:       {Hard, app.BouncePermanent, NoEmail, "the mailbox is disabled"},
	Moved:          {Hard, app.BouncePermanent, NoEmail, "the mailbox has moved and left no address"},
	BadAddress:     {Hard, app.BouncePermanent, NoEmail, "the address is not valid"},
	NoDomain:       {Hard, app.BouncePermanent, NoEmail, "the domain does not exist"},
	NullMX:         {Hard, app.BouncePermanent, NoEmail, "the domain takes no mail"},
	ProviderList:   {Hard, app.BouncePermanent, "OnAccountSuppressionList", "the provider's own list has the address"},
	Full:           {Soft, app.BounceTransient, MailboxFull, "the mailbox is full"},
	Rate:           {Soft, app.BounceTransient, General, "too much mail in a short time"},
	Greylisted:     {Soft, app.BounceTransient, General, "greylisting"},
	TooLarge:       {Soft, app.BounceTransient, MessageTooLarge, "the message is too large"},
	Expired:        {Soft, app.BounceTransient, General, "not delivered in time"},
	Unreachable:    {Soft, app.BounceTransient, General, "the mail server was not found or did not answer"},
	Temporary:      {Soft, app.BounceTransient, General, "a temporary failure"},
	Spam:           {Blocked, app.BounceTransient, ContentRejected, "spam or reputation"},
	Authentication: {Blocked, app.BounceTransient, ContentRejected, "SPF, DKIM or DMARC"},
	Content:        {Blocked, app.BounceTransient, ContentRejected, "the content was refused"},
	Sender:         {Blocked, app.BounceUndetermined, General, "the sender was refused"},
	Relaying:       {Blocked, app.BounceTransient, ContentRejected, "the server does not relay"},
	Policy:         {Blocked, app.BounceTransient, ContentRejected, "policy of the server"},
	Protocol:       {Unknown, app.BounceUndetermined, General, "a fault of protocol"},
	NoReason:       {Unknown, app.BounceUndetermined, General, "no known reason"},
}

// Class returns the class of a reason.
func (r Reason) Class() Class { return meanings[r].class }

// Description returns an English description of a reason.
func (r Reason) Description() string { return meanings[r].description }
