// Package bounce decides why a message was not delivered and whether its recipient may
// get further mail. Delivery reports, event hooks of providers and replies of relays are
// judged by the same table: enhanced status codes (RFC 3463) in codes.go, phrases of mail
// servers in phrases.go, and Judge, which weighs them.
//
// In doubt a recipient keeps getting mail: only Hard verdicts suppress. The package does
// no I/O and keeps no state. The time of a judgement is linear in the length of the text.
package bounce

import "mailer/app"

// Class says what a bounce means for further mail to the recipient.
type Class string

// The verdicts.
const (
	Hard    Class = "hard"    // mail to the address is pointless: it is suppressed
	Soft    Class = "soft"    // of the moment: a full mailbox, a rate, a server that is down
	Blocked Class = "blocked" // of the message or its sender: policy, reputation, content
	Unknown Class = "unknown" // nothing says why
)

// Reason says why a message was not delivered.
type Reason string

// The reasons.
const (
	NoMailbox      Reason = "no_mailbox"
	Disabled       Reason = "disabled"
	Moved          Reason = "moved"
	BadAddress     Reason = "bad_address"
	NoDomain       Reason = "no_domain" // the domain does not exist, by an enhanced code
	NullMX         Reason = "null_mx"   // the domain takes no mail (RFC 7505)
	ProviderList   Reason = "provider_list"
	Full           Reason = "full"
	Rate           Reason = "rate" // too much mail in a short time
	Greylisted     Reason = "greylisted"
	TooLarge       Reason = "too_large"
	Expired        Reason = "expired"     // tried until its time was over
	Unreachable    Reason = "unreachable" // DNS, routing, connection
	Temporary      Reason = "temporary"
	Spam           Reason = "spam" // reputation and blocklists too
	Authentication Reason = "authentication"
	Content        Reason = "content"
	Sender         Reason = "sender" // the sender's address or domain
	Relaying       Reason = "relaying"
	Policy         Reason = "policy"
	Protocol       Reason = "protocol"
	NoReason       Reason = "unknown"
)

// meaning is what follows from a reason. Bounce and subType are the words of Amazon SES,
// which events and webhooks use.
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

// Class returns what a reason means for further mail.
func (r Reason) Class() Class { return meanings[r].class }

// Description puts a reason into English.
func (r Reason) Description() string { return meanings[r].description }
