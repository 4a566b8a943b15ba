package verdict

import "slices"

// Code is the stable name of an outcome.
type Code string

// Template holds the sentences of a code. {name} is one of VerdictParams. Text in square brackets
// is left out if one of its values is absent.
type Template struct {
	Code Code
	Tone Tone
	Text string
	Many string // instead of Text for several recipients; empty: Text
	Fix  string
}

// text returns the sentence for count recipients.
func (t *Template) text(count int) string {
	if count > 1 && t.Many != "" {
		return t.Many
	}
	return t.Text
}

// Templates returns the sentences of all codes, worst first. An email with different outcomes
// lists them in this order.
func Templates() []Template {
	return slices.Concat(refusals, failures, blockers, delays, skipped, normal, delivered, mixtures)
}

// templates are all templates by code.
var templates = func() map[Code]*Template {
	all := Templates()
	byCode := make(map[Code]*Template, len(all))
	for i := range all {
		byCode[all[i].Code] = &all[i]
	}
	return byCode
}()

// rank orders codes by severity.
var rank = func() map[Code]int {
	order := map[Code]int{}
	for i, t := range Templates() {
		order[t.Code] = i
	}
	return order
}()

// Codes of mail that reached a recipient who complained, and of bounces.
const (
	Complained Code = "complained"

	BouncedUnknownUser    Code = "bounced_unknown_user"
	BouncedDisabled       Code = "bounced_disabled"
	BouncedNoDomain       Code = "bounced_no_domain"
	BouncedBadAddress     Code = "bounced_bad_address"
	BouncedFull           Code = "bounced_full"
	BouncedTooLarge       Code = "bounced_too_large"
	BouncedAuthentication Code = "bounced_authentication"
	BouncedSpam           Code = "bounced_spam"
	BouncedContent        Code = "bounced_content"
	BouncedSender         Code = "bounced_sender"
	BouncedRelaying       Code = "bounced_relaying"
	BouncedPolicy         Code = "bounced_policy"
	BouncedProviderList   Code = "bounced_provider_list"
	BouncedUnreachable    Code = "bounced_unreachable"
	BouncedOther          Code = "bounced"
)

var refusals = []Template{
	{Complained, Bad, "{address} reported it as spam[ at {at}].", "{count} recipients reported it as spam[, the last at {at}].",
		"Do not send to this recipient again[; {address} is suppressed since {suppressed_since}]. Check how the address got on your list."},
	{BouncedUnknownUser, Bad, "{domain} has no mailbox {address}[ ({answer})].", "{count} addresses do not exist, including {address}.",
		"Ask for the right address[; {address} is suppressed since {suppressed_since}]."},
	{BouncedDisabled, Bad, "The mailbox {address} is disabled[ ({answer})].", "{count} mailboxes are disabled, including {address}.",
		"Ask for another address[; {address} is suppressed since {suppressed_since}]."},
	{BouncedNoDomain, Bad, "{domain} accepts no mail, so {address} can't be reached[ ({answer})].", "{count} addresses are at domains that accept no mail, including {address}.",
		"Check {domain} for a typing error, or ask for another address[; {address} is suppressed since {suppressed_since}]."},
	{BouncedBadAddress, Bad, "{address} is not a valid recipient address[ ({answer})].", "{count} addresses are not valid recipient addresses, including {address}.",
		"Check the address for a typing error[; it is suppressed since {suppressed_since}]."},
	{BouncedFull, Bad, "The mailbox {address} is full[ ({answer})].", "{count} mailboxes are full, including {address}.",
		"Send it again later, or contact the recipient another way[; {address} is suppressed since {suppressed_since}]."},
	{BouncedTooLarge, Bad, "{server} rejected the message for {address} because it is too large[ ({answer})].", "The message is too large for {count} recipients, including {address}[ ({answer})].",
		"Make it smaller, for example with links instead of attachments, and send it again."},
	{BouncedAuthentication, Bad, "{server} rejected it for {address}: SPF, DKIM or DMARC of {from_domain} failed[ ({answer})].",
		"Rejected for {count} recipients: SPF, DKIM or DMARC of {from_domain} failed[ ({answer})].",
		"Check the DNS records of {from_domain}, then send it again."},
	{BouncedSpam, Bad, "{server} rejected it for {address} as spam or because of the sender's reputation[ ({answer})].",
		"Rejected for {count} recipients as spam or because of the sender's reputation[ ({answer})].",
		"Check the score of this email and the reputation of {from_domain}[. Server response: {said}]."},
	{BouncedContent, Bad, "{server} rejected the content for {address}[ ({answer})].", "The content was rejected for {count} recipients[ ({answer})].",
		"Change what the server objects to and send it again[. Server response: {said}]."},
	{BouncedSender, Bad, "{server} rejected the sender at {from_domain} for {address}[ ({answer})].", "The sender at {from_domain} was rejected for {count} recipients[ ({answer})].",
		"Check that {from_domain} exists in the DNS and that the relay {relay} is allowed to send for it, then send it again."},
	{BouncedRelaying, Bad, "{server} does not relay mail to {domain}, so {address} did not get it[ ({answer})].", "{server} does not relay mail to {count} recipients[ ({answer})].",
		"Ask the operator to check that the relay {relay} is allowed to send to all addresses and that its sign-in works (mailer relays test {relay}). Then send it again."},
	{BouncedPolicy, Bad, "{server} rejected it for {address} because of a local policy[ ({answer})].", "Rejected for {count} recipients because of a server policy[ ({answer})].",
		"Change what the server objects to and send it again[. Server response: {said}]."},
	{BouncedProviderList, Bad, "The provider did not send to {address}: it is on the provider's own suppression list.", "The provider did not send to {count} recipients: they are on its own suppression list.",
		"If the address is correct, remove it from the provider's list[ and from this server's list, where it is suppressed since {suppressed_since}]."},
	{BouncedUnreachable, Bad, "The mail server of {domain} could not be reached for {address}[ ({answer})].", "The mail servers of {count} recipients could not be reached[ ({answer})].",
		"Send it again later. If that fails too, ask for another address."},
	{BouncedOther, Bad, "{server} rejected it for {address}[ ({answer})].", "Rejected for {count} recipients[ ({answer})].",
		"Change what the server objects to and send it again[. Server response: {said}]."},
}

// Codes of failures.
const (
	FailedExpired    Code = "failed_expired"
	FailedDoubt      Code = "failed_doubt"
	FailedTooLarge   Code = "failed_too_large"
	FailedUTF8       Code = "failed_utf8"
	FailedCompose    Code = "failed_compose"
	FailedRender     Code = "failed_render"
	FailedDomainGone Code = "failed_domain_gone"
	FailedSender     Code = "failed_sender"
	FailedPolicy     Code = "failed_policy"
	FailedProvider   Code = "failed_provider"
	FailedOther      Code = "failed"
	Unknown          Code = "unknown"
)

// sendAgain ends a fix after which the same email can be sent.
const sendAgain = "then send it again (mailer queue requeue keeps the id)."

var failures = []Template{
	{FailedExpired, Bad, "Given up for {address}[ at {at}]: no relay accepted it in time[ ({attempts} attempts)][; last response: {answer}].",
		"Given up for {count} recipients[ at {at}]: no relay accepted it in time[ ({attempts} attempts)][; last response: {answer}].",
		"If the email is still useful, fix the cause, " + sendAgain},
	{FailedDoubt, Bad, "Given up for {address}[ at {at}]: the relay {relay} may have accepted it, but its reply was lost.",
		"Given up for {count} recipients[ at {at}]: the relay {relay} may have accepted it, but its reply was lost.",
		"Ask the recipient before you send it again: it may have arrived."},
	{FailedTooLarge, Bad, "The relay {relay} rejected the message because it is too large[ ({answer})].", "",
		"Make it smaller, for example with links instead of attachments, and send it again[. Server response: {said}]."},
	{FailedUTF8, Bad, "The relay {relay} does not support addresses or headers outside ASCII[ ({answer})].", "",
		"Use ASCII addresses, or a relay that supports SMTPUTF8, " + sendAgain},
	{FailedCompose, Bad, "This server could not compose the message[ ({answer})].", "",
		"Report this to the operator with the id of the email[. Error: {said}]."},
	{FailedRender, Bad, "The content could not be rendered for {address}: it does more work than one mail may do.",
		"The content could not be rendered for {count} recipients: it does more work than one mail may do.",
		"Shorten its loops, or the values that they go through, and send a copy."},
	{FailedDomainGone, Bad, "Not sent: {from_domain} was no longer a domain of this team when the email was due.", "",
		"Add and verify {from_domain} again, " + sendAgain},
	{FailedSender, Bad, "The relay {relay} rejected the sender at {from_domain}[ ({answer})].", "",
		"Verify {from_domain} with the provider of {relay}, " + sendAgain},
	{FailedPolicy, Bad, "The relay {relay} rejected the message because of a policy[ ({answer})].", "",
		"Change what it objects to and send it again[. Server response: {said}]."},
	{FailedProvider, Bad, "The provider accepted it from {relay} and did not send it[ to {address}].", "The provider accepted it from {relay} and did not send it to {count} recipients.",
		"Change what it objects to and send it again[. Server response: {said}]."},
	{FailedOther, Bad, "The relay {relay} rejected the message[ ({answer})].", "",
		"Change what it objects to and send it again[. Server response: {said}]."},
	{Unknown, Warn, "No result is recorded for {address}.", "No result is recorded for {count} recipients.",
		"Check the timeline. If entries are missing, ask the operator to run mailer check."},
}

// Codes of mail that is blocked by something that may need a correction.
const (
	HeldDamaged     Code = "held_damaged"
	HeldRestored    Code = "held_restored"
	Held            Code = "held"
	BroadcastPaused Code = "paused_broadcast"
	SuspendedTeam   Code = "suspended_team"
	PausedDomain    Code = "paused_domain"

	WaitingNoRelay      Code = "waiting_no_relay"
	WaitingNoRegion     Code = "waiting_no_region"
	WaitingCapture      Code = "waiting_capture"
	WaitingRelayPaused  Code = "waiting_relay_paused"
	WaitingRelaySignIn  Code = "waiting_relay_sign_in"
	WaitingRelayTLS     Code = "waiting_relay_tls"
	WaitingRelayDown    Code = "waiting_relay_down"
	WaitingRelayRefuses Code = "waiting_relay_refuses"
	Guardrails          Code = "guardrails"
	GuardrailsRelay     Code = "guardrails_relay"
)

var blockers = []Template{
	{HeldDamaged, Bad, "Held: the stored data of this email is damaged, so it is not sent.", "",
		"Ask the operator to run mailer check and restore a backup, or cancel the email."},
	{SuspendedTeam, Bad, "Queued: the operator suspended this team[ at {since}][: {reason}].", "",
		"Ask the operator. It is sent automatically once the team is resumed."},
	{WaitingNoRelay, Bad, "Queued: this server has no relay yet.", "",
		"Ask the operator to add one (mailer relays add). It is then sent automatically."},
	{WaitingNoRegion, Bad, "Queued: this server no longer has the relay {relay}.", "",
		"Ask the operator to add it (mailer relays add {relay}) or to move the mail to another relay (mailer queue move)."},
	{WaitingCapture, Warn, "Queued: it was accepted in capture mode and is not sent through a relay.", "",
		"Cancel it and send it again, or ask the operator to start the server with --capture again."},
	{WaitingRelaySignIn, Bad, "Queued: the relay {relay} has rejected this server's sign-in since {since}[ ({answer})].", "",
		"Ask the operator to correct the password where the relay is set (--relay or MAILER_RELAY of the server, else mailer relays add {relay}). No attempts are counted[; next probe at {next_at}]."},
	{WaitingRelayTLS, Bad, "Queued: no secure connection to the relay {relay} since {since}[ ({answer})].", "",
		"Ask the operator to check its certificate (mailer relays test {relay}). No attempts are counted[; next probe at {next_at}]."},
	{WaitingRelayDown, Bad, "Queued: the relay {relay} has been unreachable since {since}[ ({answer})].", "",
		"It is sent automatically once the relay answers. No attempts are counted[; next probe at {next_at}]. If the problem lasts: mailer relays test {relay}."},
	{WaitingRelayRefuses, Bad, "Queued: the relay {relay} has rejected all mail since {since}[ ({answer})].", "",
		"Ask the operator to contact the provider of {relay}. No mail is given up[; next probe at {next_at}]."},
	{PausedDomain, Bad, "Queued: the relay {relay} has rejected all mail from {from_domain} since {since}[ ({answer})].", "",
		"Check the DNS records of {from_domain} and that the relay is allowed to send for it. No mail is given up[; next probe at {next_at}]."},
	{Held, Warn, "Held[ by {by}][ since {since}]: it is sent once it is released.", "",
		"Release it in the queue, or cancel it."},
	{HeldRestored, Warn, "Held since a backup was restored[ at {since}]: it may have been sent after the backup was made.", "",
		"Ask the operator to run mailer queue release --restored, or mailer queue drop --restored."},
	{BroadcastPaused, Warn, "Queued: its broadcast is paused[ since {since}].", "",
		"Resume the broadcast, or cancel it."},
	{WaitingRelayPaused, Warn, "Queued: the operator paused the relay {relay}[ at {since}][ until {until}].", "",
		"Nothing to do: it is sent once the relay is resumed (mailer relays resume {relay})."},
	{Guardrails, Warn, "Queued: the broadcasts of this team are paused because too many recipients bounced or complained.", "",
		"See Reputation for how to recover. Sending resumes automatically."},
	{GuardrailsRelay, Warn, "Queued: broadcasts through {relay} are paused because of its bounces and complaints.", "",
		"Nothing to do: they resume automatically, and other mail is sent as usual."},
}

// Codes of deferred mail.
const (
	Doubt               Code = "doubt"
	DeferredRefused     Code = "deferred_refused"
	DeferredFull        Code = "deferred_full"
	DeferredRate        Code = "deferred_rate"
	DeferredPolicy      Code = "deferred_policy"
	DeferredUnreachable Code = "deferred_unreachable"
	DeferredLost        Code = "deferred_lost"
	Greylisted          Code = "greylisted"
	Deferred            Code = "deferred"
	Interrupted         Code = "interrupted"
	WaitingRetry        Code = "waiting_retry"
	DeliveryDelayed     Code = "delivery_delayed"
)

// triedAgain ends the sentence about deferred mail.
const triedAgain = "it is retried automatically[ until {gives_up_at}]"

var delays = []Template{
	{Doubt, Warn, "The relay {relay} may have accepted it: its reply was lost[ at {at}].[ It is kept for {kept}, which may have sent it.] It is sent again[ at {next_at}] with the same Message-ID.", "",
		"Nothing to do: it is not sent again if a provider report gives the result first. A second copy has the same Message-ID."},
	{DeferredRefused, Warn, "{server} rejected it[ for {address}][ ({answer})]; one more attempt[ at {next_at}] decides.",
		"{server} rejected it for {count} recipients[ ({answer})]; one more attempt[ at {next_at}] decides.",
		"Nothing to do yet: a single rejection does not fail the email[. Server response: {said}]."},
	{DeferredFull, Warn, "The mailbox {address} is full[ ({answer})][; next attempt at {next_at}].", "{count} mailboxes are full[ ({answer})][; next attempt at {next_at}].",
		"Nothing to do: " + triedAgain + ". Or contact the recipient another way."},
	{DeferredRate, Warn, "{server} accepts no more for now because of its rate limit[ ({answer})][; next attempt at {next_at}].", "",
		"Nothing to do: " + triedAgain + "."},
	{DeferredPolicy, Warn, "{server} deferred it[ for {address}] because of a local policy[ ({answer})][; next attempt at {next_at}].",
		"{server} deferred it for {count} recipients because of a local policy[ ({answer})][; next attempt at {next_at}].",
		"Nothing to do yet: " + triedAgain + "[. Server response: {said}]."},
	{DeferredUnreachable, Warn, "The mail server of {domain} does not answer, so the email to {address} is deferred[ ({answer})][; next attempt at {next_at}].",
		"The mail servers of {count} recipients do not answer[ ({answer})][; next attempt at {next_at}].",
		"Nothing to do: " + triedAgain + "."},
	{DeferredLost, Warn, "The connection to the relay {relay} was lost[ ({answer})][; next attempt at {next_at}].", "",
		"Nothing to do: " + triedAgain + "."},
	{Greylisted, Warn, "Greylisted: {server} asks for a retry[ ({answer})][; next attempt at {next_at}].", "",
		"Nothing to do: this is a common spam check, and the next attempt usually passes."},
	{Deferred, Warn, "{server} deferred it[ for {address}][ ({answer})][; next attempt at {next_at}].", "{server} deferred it for {count} recipients[ ({answer})][; next attempt at {next_at}].",
		"Nothing to do: " + triedAgain + "[. Server response: {said}]."},
	{Interrupted, Warn, "This server stopped during an attempt[ at {at}], before anything was sent[; next attempt at {next_at}].", "",
		"Nothing to do: it is retried automatically."},
	{WaitingRetry, Warn, "Deferred[; next attempt at {next_at}].", "",
		"Nothing to do: " + triedAgain + "."},
	{DeliveryDelayed, Warn, "The relay {relay} accepted it, but can't deliver it to {domain} for {address} yet[ ({answer})].", "The relay {relay} accepted it, but can't deliver it to {count} recipients yet[ ({answer})].",
		"Nothing to do: the provider keeps trying, and a bounce would appear here[. Server response: {said}]."},
}

// Codes of skipped recipients.
const (
	SuppressedBounce      Code = "suppressed_bounce"
	SuppressedComplaint   Code = "suppressed_complaint"
	SuppressedManual      Code = "suppressed_manual"
	SuppressedUnsubscribe Code = "suppressed_unsubscribe"
	SuppressedOptOut      Code = "suppressed_opt_out"
	SuppressedLifted      Code = "suppressed_lifted"
	Erased                Code = "erased"
	Canceled              Code = "canceled"
	CanceledBroadcast     Code = "canceled_broadcast"
)

var skipped = []Template{
	{SuppressedBounce, Warn, "Not sent to {address}: mail to it bounced, so it is suppressed since {suppressed_since}.", "Not sent to {count} addresses: mail to them bounced, so they are suppressed.",
		"If the address is correct, remove the suppression and send it again."},
	{SuppressedComplaint, Warn, "Not sent to {address}: it reported mail as spam, so it is suppressed since {suppressed_since}.", "Not sent to {count} addresses: they reported mail as spam, so they are suppressed.",
		"Keep the suppression unless the recipient asks for your mail again."},
	{SuppressedManual, Warn, "Not sent to {address}: it was put on the suppression list at {suppressed_since}.", "Not sent to {count} addresses: they were put on the suppression list.",
		"To send to it again, remove the suppression first."},
	{SuppressedUnsubscribe, Neutral, "Not sent to {address}: it unsubscribed at {suppressed_since}.", "Not sent to {count} addresses: they unsubscribed.",
		"Nothing to do: this is the recipient's choice."},
	{SuppressedOptOut, Neutral, "Not sent to {address}: it opted out of this kind of mail, or never opted in.", "Not sent to {count} addresses: they opted out of this kind of mail, or never opted in.",
		"Nothing to do: the recipient can change this on the preferences page."},
	{SuppressedLifted, Warn, "Not sent to {address}: it was suppressed[ at {at}] and is no longer.", "Not sent to {count} addresses: they were suppressed and are no longer.",
		"Send it again if it is still needed."},
	{Erased, Neutral, "Not sent: the recipient was erased[ at {at}].", "Not sent to {count} recipients: they were erased.",
		"Nothing to do: the address was erased."},
	{Canceled, Neutral, "Canceled[ by {by}][ at {at}]; no more of it is sent.", "",
		"Nothing to do, or send it again."},
	{CanceledBroadcast, Neutral, "Canceled with its broadcast[ at {at}], before it was sent.", "",
		"Nothing to do."},
}

// Codes of mail that waits normally.
const (
	WaitingRelayLimit Code = "waiting_relay_limit"
	WaitingRelayShare Code = "waiting_relay_share"
	WaitingAlignment  Code = "waiting_alignment"
	WaitingQuota      Code = "waiting_quota"
	WaitingPace       Code = "waiting_pace"
	Scheduled         Code = "scheduled"
	Queued            Code = "queued"
	Leaving           Code = "leaving"
)

// throughReserve ends the sentence about mail that a reserve of the region sent.
const throughReserve = "[ It was sent through {relay}, the reserve of {region}, because {because}.]"

var normal = []Template{
	{WaitingRelayLimit, Warn, "Queued: the relay {relay} has reached its limit of messages in 24 hours[; sending resumes at {next_at}].", "",
		"Nothing to do: it is sent automatically. If this happens often, ask the provider for a higher limit."},
	{WaitingRelayShare, Warn, "Queued: this team has used its share of the 24-hour limit of the relay {relay}.", "",
		"Nothing to do: it is sent automatically when capacity is free."},
	{WaitingAlignment, Warn, "Queued: mail from {from_domain} does not leave through the relay that is used instead of {relay}, because receivers could not tell that it is genuine.", "",
		"It is sent automatically once the usual relay works again. The timeline says what the domain lacks for the other one."},
	{WaitingQuota, Warn, "Queued: the team has used its daily quota[; sending resumes at {next_at}].", "",
		"Nothing to do, or ask for a larger plan."},
	{WaitingPace, Neutral, "Queued in its broadcast, which is sent as fast as the relay {relay} accepts it.", "",
		"Nothing to do: the broadcast shows when it will be finished."},
	{Scheduled, Neutral, "Scheduled[ for {next_at}].", "",
		"Nothing to do: until then you can reschedule or cancel it."},
	{Queued, Neutral, "Queued for the relay {relay}; no problems.", "",
		"Nothing to do: it is sent in a moment."},
	{Leaving, Neutral, "It is being sent to the relay {relay} now[, attempt {attempts}].", "",
		"Nothing to do: the result appears here in a moment."},
}

// Codes of mail that arrived, as far as is known.
const (
	Captured      Code = "captured"
	TestRecipient Code = "test_recipient"
	Sent          Code = "sent"
	Delivered     Code = "delivered"
	Unsubscribed  Code = "unsubscribed"
	Opened        Code = "opened"
	Clicked       Code = "clicked"
	Answered      Code = "answered"
)

var delivered = []Template{
	{Captured, Neutral, "Captured, not sent: this server stores mail for {address} instead of sending it.", "Captured, not sent: this server stores mail for {count} recipients instead of sending it.",
		"To send it, ask the operator to start the server with a relay and run mailer queue requeue --captured."},
	{TestRecipient, Neutral, "{address} is a test recipient: it counts as {outcome}, and nothing was sent.", "{count} test recipients: they count as {outcome}, and nothing was sent.",
		"Nothing to do: the test worked."},
	{Sent, Neutral, "The relay {relay} accepted it for {address}[ at {at}]; no delivery report yet." + throughReserve, "The relay {relay} accepted it for {count} recipients[, the last at {at}]; no delivery report yet." + throughReserve,
		"Nothing to do: a bounce would appear here. Delivery is known only if the provider reports its events to this server."},
	{Delivered, Good, "Delivered to {address}[ at {at}]." + throughReserve, "Delivered to {count} recipients[, the last at {at}]." + throughReserve,
		"Nothing to do: the recipient's mail server accepted it."},
	{Unsubscribed, Neutral, "Delivered to {address}, who unsubscribed with it[ at {at}].", "",
		"Nothing to do: the recipient gets no more mail of this kind."},
	{Opened, Good, "Delivered to {address} and opened[, last at {at}].", "Opened by at least one of {count} recipients[, last at {at}].",
		"Nothing to do."},
	{Clicked, Good, "Delivered to {address}, and a link was clicked[, last at {at}].", "A link was clicked by at least one of {count} recipients[, last at {at}].",
		"Nothing to do."},
	{Answered, Good, "{name} answered[ after {after}].", "{count} recipients answered, including {name}[, the last at {at}].",
		"Read the answer in the received mail."},
}

// Codes of emails with different outcomes. The sentences of the parts follow.
const (
	MixedDelivered Code = "mixed_delivered"
	MixedSent      Code = "mixed_sent"
	Mixed          Code = "mixed"
)

var mixtures = []Template{
	{MixedDelivered, Warn, "Delivered to {reached} of {total}.", "", ""},
	{MixedSent, Warn, "Accepted by the relay {relay} for {reached} of {total}.", "", ""},
	{Mixed, Warn, "Delivered to none of {total} recipients.", "", ""},
}
