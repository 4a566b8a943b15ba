package verdict

import "slices"

// Code is a stable word for what became of an email.
type Code string

// Template is the sentences of a code. {name} stands for one of VerdictParams, and what stands
// in square brackets is left out where a value in it is absent.
type Template struct {
	Code Code
	Tone Tone
	Text string
	Many string // in the place of Text, of several recipients; empty: the same
	Fix  string
}

// text is what is said of count recipients.
func (t *Template) text(count int) string {
	if count > 1 && t.Many != "" {
		return t.Many
	}
	return t.Text
}

// Templates are the sentences of all codes, the gravest first: in this order an email
// whose recipients ended differently tells of them.
func Templates() []Template {
	return slices.Concat(refusals, failures, obstacles, delays, leftOut, quiet, arrivals, mixtures)
}

// templates are all of them by code.
var templates = func() map[Code]*Template {
	all := Templates()
	byCode := make(map[Code]*Template, len(all))
	for i := range all {
		byCode[all[i].Code] = &all[i]
	}
	return byCode
}()

// rank orders codes by how grave they are.
var rank = func() map[Code]int {
	order := map[Code]int{}
	for i, t := range Templates() {
		order[t.Code] = i
	}
	return order
}()

// The codes of what reached a recipient, or was said against by one.
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
		"Send no more to who complained[; {address} is suppressed since {suppressed_since}]. Check how the address came onto your list."},
	{BouncedUnknownUser, Bad, "{domain} has no mailbox {address}[ ({answer})].", "{count} of its addresses do not exist, {address} is one.",
		"Ask for the right address[; {address} is suppressed since {suppressed_since}]."},
	{BouncedDisabled, Bad, "The mailbox {address} is disabled[ ({answer})].", "{count} of its mailboxes are disabled, {address} is one.",
		"Ask for another address[; {address} is suppressed since {suppressed_since}]."},
	{BouncedNoDomain, Bad, "{domain} takes no mail, so nothing reaches {address}[ ({answer})].", "{count} of its addresses are at domains that take no mail, {address} is one.",
		"Look for a typing error in {domain}, or ask for another address[; {address} is suppressed since {suppressed_since}]."},
	{BouncedBadAddress, Bad, "{address} is no address to which mail can be sent[ ({answer})].", "{count} of its addresses can't be sent to, {address} is one.",
		"Look for a typing error in the address[; it is suppressed since {suppressed_since}]."},
	{BouncedFull, Bad, "The mailbox {address} is full[ ({answer})].", "{count} of its mailboxes are full, {address} is one.",
		"Send it again later, or reach the person another way[; {address} is suppressed since {suppressed_since}]."},
	{BouncedTooLarge, Bad, "{server} takes no message this large for {address}[ ({answer})].", "It is too large for {count} recipients, {address} is one[ ({answer})].",
		"Make it smaller, by links in the place of attachments, and send it again."},
	{BouncedAuthentication, Bad, "{server} refused it for {address}: SPF, DKIM or DMARC of {from_domain} did not pass[ ({answer})].",
		"Refused for {count} recipients: SPF, DKIM or DMARC of {from_domain} did not pass[ ({answer})].",
		"Check the DNS records of {from_domain}, then send it again."},
	{BouncedSpam, Bad, "{server} refused it for {address} as spam, or for its sender's reputation[ ({answer})].",
		"Refused for {count} recipients as spam, or for its sender's reputation[ ({answer})].",
		"Look at the score of this email and at the reputation of {from_domain}[. The server said: {said}]."},
	{BouncedContent, Bad, "{server} refused what it contains for {address}[ ({answer})].", "What it contains was refused for {count} recipients[ ({answer})].",
		"Change what the server objects to and send it again[. It said: {said}]."},
	{BouncedSender, Bad, "{server} refused the sender, at {from_domain}, for {address}[ ({answer})].", "The sender, at {from_domain}, was refused for {count} recipients[ ({answer})].",
		"See that {from_domain} exists in the DNS and that the relay {relay} may send for it, then send it again."},
	{BouncedRelaying, Bad, "{server} does not pass mail on to {domain}, so {address} did not get it[ ({answer})].", "{server} does not pass mail on to {count} of its recipients[ ({answer})].",
		"The operator sees that the relay {relay} may send to everybody, and that it signs in (mailer relays test {relay}); then send it again."},
	{BouncedPolicy, Bad, "{server} refused it for {address} by a rule of its own[ ({answer})].", "Refused for {count} recipients by a rule of the server[ ({answer})].",
		"Change what the server objects to and send it again[. It said: {said}]."},
	{BouncedProviderList, Bad, "The provider did not try {address}: it is on the provider's own suppression list.", "The provider did not try {count} recipients: they are on its own suppression list.",
		"If the address is right, take it off the provider's list[ and off this one: here it is suppressed since {suppressed_since}]."},
	{BouncedUnreachable, Bad, "The mail server of {domain} could not be reached for {address}[ ({answer})].", "The mail servers of {count} recipients could not be reached[ ({answer})].",
		"Send it again later; if that fails too, ask for an address elsewhere."},
	{BouncedOther, Bad, "{server} refused it for {address}[ ({answer})].", "Refused for {count} recipients[ ({answer})].",
		"Change what the server objects to and send it again[. It said: {said}]."},
}

// The codes of what was given up.
const (
	FailedExpired    Code = "failed_expired"
	FailedDoubt      Code = "failed_doubt"
	FailedTooLarge   Code = "failed_too_large"
	FailedUTF8       Code = "failed_utf8"
	FailedCompose    Code = "failed_compose"
	FailedDomainGone Code = "failed_domain_gone"
	FailedSender     Code = "failed_sender"
	FailedPolicy     Code = "failed_policy"
	FailedProvider   Code = "failed_provider"
	FailedOther      Code = "failed"
	Unknown          Code = "unknown"
)

// sendAgain ends a fix after which the same email can leave.
const sendAgain = "then send it again (mailer queue requeue has the id stay)."

var failures = []Template{
	{FailedExpired, Bad, "Given up for {address}[ at {at}]: no relay took it in the time that it may wait[ ({attempts} tries)][; last answer: {answer}].",
		"Given up for {count} recipients[ at {at}]: no relay took it in the time that it may wait[ ({attempts} tries)][; last answer: {answer}].",
		"Mend what kept it, if it is still worth something, " + sendAgain},
	{FailedDoubt, Bad, "Given up for {address}[ at {at}]: the relay {relay} may have taken it, but its reply was lost.",
		"Given up for {count} recipients[ at {at}]: the relay {relay} may have taken it, but its reply was lost.",
		"Ask the recipient before you send it again: it may be there."},
	{FailedTooLarge, Bad, "The relay {relay} takes no message this large[ ({answer})].", "",
		"Make it smaller, by links in the place of attachments, and send it again[. Said: {said}]."},
	{FailedUTF8, Bad, "The relay {relay} can't carry an address or header beyond ASCII[ ({answer})].", "",
		"Use addresses in ASCII, or a relay that offers SMTPUTF8, " + sendAgain},
	{FailedCompose, Bad, "This server could not make a message of it[ ({answer})].", "",
		"Report this to the operator with the id of the email[. Said: {said}]."},
	{FailedDomainGone, Bad, "Not sent: {from_domain} was no longer a domain of this team when its turn came.", "",
		"Add and verify {from_domain} again, " + sendAgain},
	{FailedSender, Bad, "The relay {relay} refused the sender, at {from_domain}[ ({answer})].", "",
		"Have {from_domain} verified with the provider behind {relay}, " + sendAgain},
	{FailedPolicy, Bad, "The relay {relay} refused the message by a rule of its own[ ({answer})].", "",
		"Change what it objects to and send it again[. It said: {said}]."},
	{FailedProvider, Bad, "The provider took it from {relay} and did not send it[ to {address}].", "The provider took it from {relay} and did not send it to {count} recipients.",
		"Change what it objects to and send it again[. It said: {said}]."},
	{FailedOther, Bad, "The relay {relay} refused the message[ ({answer})].", "",
		"Change what it objects to and send it again[. It said: {said}]."},
	{Unknown, Warn, "It is not recorded what became of it for {address}.", "It is not recorded what became of it for {count} recipients.",
		"Look at the timeline; if that ends too early, the operator looks for damage (mailer check)."},
}

// The codes of what something keeps from leaving that somebody may have to mend.
const (
	HeldDamaged   Code = "held_damaged"
	HeldRestored  Code = "held_restored"
	Held          Code = "held"
	SuspendedTeam Code = "suspended_team"
	PausedDomain  Code = "paused_domain"

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

var obstacles = []Template{
	{HeldDamaged, Bad, "Held: the database is damaged where this email stands, so nothing of it leaves.", "",
		"The operator looks what is damaged (mailer check) and restores a backup, or drops the email."},
	{SuspendedTeam, Bad, "It waits: the operator suspended this team[ at {since}][: {reason}].", "",
		"Ask the operator; it leaves by itself once the team is resumed."},
	{WaitingNoRelay, Bad, "It waits: this server has no relay yet.", "",
		"The operator adds one (mailer relays add); then it leaves by itself."},
	{WaitingNoRegion, Bad, "It waits: this server has no relay {relay} any more.", "",
		"The operator adds it (mailer relays add {relay}) or moves the mail to another (mailer queue move)."},
	{WaitingCapture, Warn, "It waits: it was accepted while mail was captured, and leaves through no real relay.", "",
		"Cancel it and send it again, or the operator starts with --capture once more."},
	{WaitingRelaySignIn, Bad, "It waits: the relay {relay} refuses this server's sign-in since {since}[ ({answer})].", "",
		"The operator gives the relay the right password where it is set (--relay or MAILER_RELAY of the server, else mailer relays add {relay}); no try is counted[; next probe at {next_at}]."},
	{WaitingRelayTLS, Bad, "It waits: no secure connection to the relay {relay} since {since}[ ({answer})].", "",
		"The operator looks at its certificate (mailer relays test {relay}); no try is counted[; next probe at {next_at}]."},
	{WaitingRelayDown, Bad, "It waits: the relay {relay} can't be reached since {since}[ ({answer})].", "",
		"It leaves by itself once the relay answers; no try is counted[; next probe at {next_at}]. If it lasts: mailer relays test {relay}."},
	{WaitingRelayRefuses, Bad, "It waits: the relay {relay} refuses everybody's mail since {since}[ ({answer})].", "",
		"The operator asks the provider behind {relay}; nothing is given up[; next probe at {next_at}]."},
	{PausedDomain, Bad, "It waits: the relay {relay} refuses everything from {from_domain} since {since}[ ({answer})].", "",
		"Check the DNS records of {from_domain} and that the relay may send for it; nothing is given up[; next probe at {next_at}]."},
	{Held, Warn, "Held[ by {by}][ since {since}]: it leaves once it is released.", "",
		"Release it in the queue, or cancel it."},
	{HeldRestored, Warn, "Held since a backup was restored[ at {since}]: it may have left after the backup was made.", "",
		"The operator decides: mailer queue release --restored, or drop."},
	{WaitingRelayPaused, Warn, "It waits: the operator paused the relay {relay}[ at {since}][ until {until}].", "",
		"Nothing to do: it leaves once the relay is resumed (mailer relays resume {relay})."},
	{Guardrails, Warn, "It waits: the broadcasts of this team rest, since too many recipients bounced or complained lately.", "",
		"Look at Reputation for what clears it; they go on by themselves."},
	{GuardrailsRelay, Warn, "It waits: broadcasts through {relay} rest while its bounces and complaints are too many.", "",
		"Nothing to do: they go on by themselves, and other mail leaves as ever."},
}

// The codes of what was put off.
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

// triedAgain ends what is done about mail that was put off.
const triedAgain = "it is tried again by itself[ until {gives_up_at}]"

var delays = []Template{
	{Doubt, Warn, "The relay {relay} may have taken it: its reply was lost[ at {at}]. It is sent again[ at {next_at}] with the same Message-ID.", "",
		"Nothing to do: a report of the provider settles it before, and a second copy can be told by its Message-ID."},
	{DeferredRefused, Warn, "{server} refused it[ for {address}][ ({answer})]; it is asked once more[ at {next_at}] before that counts.",
		"{server} refused it for {count} recipients[ ({answer})]; it is asked once more[ at {next_at}] before that counts.",
		"Nothing to do yet: one refusal alone fails no email[. The server said: {said}]."},
	{DeferredFull, Warn, "The mailbox {address} is full[ ({answer})][; next try at {next_at}].", "{count} mailboxes are full[ ({answer})][; next try at {next_at}].",
		"Nothing to do: " + triedAgain + ". Or reach the person another way."},
	{DeferredRate, Warn, "{server} takes no more for now: too much came at once[ ({answer})][; next try at {next_at}].", "",
		"Nothing to do: " + triedAgain + "."},
	{DeferredPolicy, Warn, "{server} put it off[ for {address}] by a rule of its own[ ({answer})][; next try at {next_at}].",
		"{server} put it off for {count} recipients by a rule of its own[ ({answer})][; next try at {next_at}].",
		"Nothing to do yet: " + triedAgain + "[. The server said: {said}]."},
	{DeferredUnreachable, Warn, "The mail server of {domain} does not answer, so {address} waits[ ({answer})][; next try at {next_at}].",
		"The mail servers of {count} recipients do not answer[ ({answer})][; next try at {next_at}].",
		"Nothing to do: " + triedAgain + "."},
	{DeferredLost, Warn, "The connection to the relay {relay} was lost[ ({answer})][; next try at {next_at}].", "",
		"Nothing to do: " + triedAgain + "."},
	{Greylisted, Warn, "{server} has new senders come a second time (greylisting[, {answer}])[; next try at {next_at}].", "",
		"Nothing to do: this is a usual test against spam, and the next try mostly passes it."},
	{Deferred, Warn, "{server} put it off[ for {address}][ ({answer})][; next try at {next_at}].", "{server} put it off for {count} recipients[ ({answer})][; next try at {next_at}].",
		"Nothing to do: " + triedAgain + "[. The server said: {said}]."},
	{Interrupted, Warn, "This server stopped in the midst of a try[ at {at}], before anything left[; next try at {next_at}].", "",
		"Nothing to do: it is tried again by itself."},
	{WaitingRetry, Warn, "It was put off[; next try at {next_at}].", "",
		"Nothing to do: " + triedAgain + "."},
	{DeliveryDelayed, Warn, "The relay {relay} took it, and can't hand it to {domain} for {address} yet[ ({answer})].", "The relay {relay} took it, and can't hand it on for {count} recipients yet[ ({answer})].",
		"Nothing to do: the provider goes on trying, and a bounce would show here[. Said: {said}]."},
}

// The codes of who was left out.
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

var leftOut = []Template{
	{SuppressedBounce, Warn, "Not sent to {address}: mail to it bounced, so it is suppressed since {suppressed_since}.", "Not sent to {count} addresses: mail to them bounced, so they are suppressed.",
		"If the address is right, lift the suppression and send it again."},
	{SuppressedComplaint, Warn, "Not sent to {address}: it reported mail as spam, so it is suppressed since {suppressed_since}.", "Not sent to {count} addresses: they reported mail as spam, so they are suppressed.",
		"Leave it so, unless the person asks for your mail again."},
	{SuppressedManual, Warn, "Not sent to {address}: it was put on the suppression list at {suppressed_since}.", "Not sent to {count} addresses: they were put on the suppression list.",
		"If it should get mail again, lift the suppression and send it again."},
	{SuppressedUnsubscribe, Neutral, "Not sent to {address}: it unsubscribed at {suppressed_since}.", "Not sent to {count} addresses: they unsubscribed.",
		"Nothing to do: the person decided so."},
	{SuppressedOptOut, Neutral, "Not sent to {address}: it opted out of this kind of mail, or never opted in.", "Not sent to {count} addresses: they opted out of this kind of mail, or never opted in.",
		"Nothing to do: the person decides, on the preferences page."},
	{SuppressedLifted, Warn, "Not sent to {address}: it was suppressed[ at {at}], and is no more.", "Not sent to {count} addresses: they were suppressed, and are no more.",
		"Send it again, if it should still arrive."},
	{Erased, Neutral, "Not sent: the recipient was erased[ at {at}].", "Not sent to {count} recipients: they were erased.",
		"Nothing to do: nothing is kept of who was erased."},
	{Canceled, Neutral, "Canceled[ by {by}][ at {at}]; nothing more of it leaves.", "",
		"Nothing to do, or send it again."},
	{CanceledBroadcast, Neutral, "Canceled with its broadcast[ at {at}], before its turn came.", "",
		"Nothing to do."},
}

// The codes of what waits as it should.
const (
	WaitingRelayLimit Code = "waiting_relay_limit"
	WaitingRelayShare Code = "waiting_relay_share"
	WaitingQuota      Code = "waiting_quota"
	WaitingPace       Code = "waiting_pace"
	Scheduled         Code = "scheduled"
	Queued            Code = "queued"
	Leaving           Code = "leaving"
)

var quiet = []Template{
	{WaitingRelayLimit, Warn, "It waits: the relay {relay} has used its limit of messages in 24 hours[; the next place is free at {next_at}].", "",
		"Nothing to do: it leaves by itself. If this comes often, ask the provider for a higher limit."},
	{WaitingRelayShare, Warn, "It waits: this team has used its share of what the relay {relay} takes in 24 hours.", "",
		"Nothing to do: it leaves by itself as places come free."},
	{WaitingQuota, Warn, "It waits: the team's quota of this day is used[; it leaves from {next_at} on].", "",
		"Nothing to do, or ask for a larger plan."},
	{WaitingPace, Neutral, "It waits for its turn in its broadcast, which leaves as fast as the relay {relay} takes it.", "",
		"Nothing to do: the broadcast says when it will be through."},
	{Scheduled, Neutral, "It waits for its own time[ and leaves at {next_at}].", "",
		"Nothing to do: until then it can be moved or canceled."},
	{Queued, Neutral, "It waits for its turn at the relay {relay}; nothing keeps it.", "",
		"Nothing to do: it leaves in a moment."},
	{Leaving, Neutral, "It is being handed to the relay {relay} now[, at try {attempts}].", "",
		"Nothing to do: what comes of it shows here in a moment."},
}

// The codes of what arrived, as far as is known.
const (
	Captured      Code = "captured"
	TestRecipient Code = "test_recipient"
	Sent          Code = "sent"
	Delivered     Code = "delivered"
	Unsubscribed  Code = "unsubscribed"
	Opened        Code = "opened"
	Clicked       Code = "clicked"
)

var arrivals = []Template{
	{Captured, Neutral, "Captured, not sent: this server keeps the mail for {address} instead of sending it.", "Captured, not sent: this server keeps the mail for {count} recipients instead of sending it.",
		"To send it, the operator starts with a relay and runs mailer queue requeue --captured."},
	{TestRecipient, Neutral, "{address} is a test recipient: it counts as {outcome}, and nothing left this server.", "{count} test recipients: they count as {outcome}, and nothing left this server for them.",
		"Nothing to do: it did what it is for."},
	{Sent, Neutral, "The relay {relay} took it for {address}[ at {at}]; nothing was reported of it since.", "The relay {relay} took it for {count} recipients[, the last at {at}]; nothing was reported of it since.",
		"Nothing to do: a bounce would show here. That it arrived shows only where the provider reports its events to this server."},
	{Delivered, Good, "Delivered to {address}[ at {at}].", "Delivered to {count} recipients[, the last at {at}].",
		"Nothing to do: the recipient's mail server took it."},
	{Unsubscribed, Neutral, "It arrived at {address}, who unsubscribed through it[ at {at}].", "",
		"Nothing to do: the person gets no more mail of this kind."},
	{Opened, Good, "It arrived at {address} and was opened[, last at {at}].", "It was opened by at least one of {count} recipients[, last at {at}].",
		"Nothing to do."},
	{Clicked, Good, "It arrived at {address}, and a link in it was followed[, last at {at}].", "A link in it was followed by at least one of {count} recipients[, last at {at}].",
		"Nothing to do."},
}

// The codes of emails whose recipients ended differently. Their sentences are followed by
// those of the parts.
const (
	MixedDelivered Code = "mixed_delivered"
	MixedSent      Code = "mixed_sent"
	Mixed          Code = "mixed"
)

var mixtures = []Template{
	{MixedDelivered, Warn, "Delivered to {reached} of {total}.", "", ""},
	{MixedSent, Warn, "Taken by the relay {relay} for {reached} of {total}.", "", ""},
	{Mixed, Warn, "None of {total} recipients has it.", "", ""},
}
