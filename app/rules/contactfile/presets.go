package contactfile

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mailer/app"
)

// Preset is a service whose export files are known.
type Preset string

// The presets.
const (
	Mailchimp  Preset = "mailchimp"
	Brevo      Preset = "brevo"
	SendGrid   Preset = "sendgrid"
	Postmark   Preset = "postmark"
	HubSpot    Preset = "hubspot"
	MailerLite Preset = "mailerlite"
	Resend     Preset = "resend"
	Listmonk   Preset = "listmonk"
)

// Presets are all presets. Tests compare the lists of the API and the dashboard with it.
var Presets = []Preset{Mailchimp, Brevo, SendGrid, Postmark, HubSpot, MailerLite, Resend, Listmonk}

// PresetNames lists the presets for messages.
var PresetNames = presetNames()

func presetNames() string {
	var b strings.Builder
	for i, p := range Presets {
		switch i {
		case 0:
		case len(Presets) - 1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(string(p))
	}
	return b.String()
}

// ParsePreset parses a preset; empty means none. Error: CodeValidation.
func ParsePreset(s string) (Preset, error) {
	if s == "" || slices.Contains(Presets, Preset(s)) {
		return Preset(s), nil
	}
	return "", app.Invalid("preset", "must be %s", PresetNames)
}

// Fields of preset columns other than contact fields and properties.
const (
	fullNameField   = "name"       // the first word is the first name
	statusField     = "status"     // a word that must be known
	hintField       = "hint"       // a word that counts if it is known
	optOutField     = "opted_out"  // anything but no: opted out
	bounceField     = "bounced"    // anything but no: bounced
	complaintField  = "complained" // anything but no: complained
	segmentsField   = "segments"   // names with separators
	listIDsField    = "list_ids"   // ids with separators
	createdField    = "created_at"
	attributesField = "attributes" // a JSON object
	entryField      = "entry"      // a member of a suppression list entry
	leftField       = "-"          // ignored
)

// presetHeadings are headings of all presets in plain form, some in the languages of the services.
var presetHeadings = map[string]string{
	"email": app.EmailField, "emailaddress": app.EmailField, "adresseemail": app.EmailField, "emailadresse": app.EmailField,
	"correoelectrónico": app.EmailField, "correoelectronico": app.EmailField, "courriel": app.EmailField,
	"firstname": app.FirstNameField, "fname": app.FirstNameField, "givenname": app.FirstNameField, "prenom": app.FirstNameField,
	"prénom": app.FirstNameField, "vorname": app.FirstNameField, "nombre": app.FirstNameField, "nome": app.FirstNameField,
	"lastname": app.LastNameField, "lname": app.LastNameField, "surname": app.LastNameField, "familyname": app.LastNameField,
	"nom": app.LastNameField, "nachname": app.LastNameField, "apellido": app.LastNameField, "apellidos": app.LastNameField, "cognome": app.LastNameField,
	"unsubscribed": optOutField, "optedout": optOutField,
	"emailmarketingstatus": hintField, "emailsubscriptionstatus": hintField, "subscriptionstatus": hintField,
}

// ownHeadings are headings of one preset in plain form. They take precedence over presetHeadings.
var ownHeadings = map[Preset]map[string]string{
	Mailchimp: {
		"tags": segmentsField, "optintime": createdField, "confirmtime": createdField, "unsubtime": optOutField, "cleantime": bounceField,
		"memberrating": leftField, "optinip": leftField, "confirmip": leftField, "latitude": leftField, "longitude": leftField, "gmtoff": leftField,
		"dstoff": leftField, "timezone": leftField, "cc": leftField, "region": leftField, "lastchanged": leftField, "leid": leftField, "euid": leftField,
		"unsubcampaigntitle": leftField, "unsubcampaignid": leftField, "unsubreason": leftField, "unsubreasonother": leftField,
		"cleancampaigntitle": leftField, "cleancampaignid": leftField, "smsmarketingstatus": leftField,
	},
	Brevo: {
		"emailblacklisted": optOutField, "blacklisted": optOutField, "emailblacklist": optOutField, "emailmarketing": hintField,
		"lists": segmentsField, "list": segmentsField, "listnames": segmentsField, "listids": listIDsField,
		"addedtime": createdField, "createdat": createdField, "modifiedtime": leftField, "modifiedat": leftField,
		"contactid": leftField, "smsblacklisted": leftField, "whatsappblacklisted": leftField,
	},
	SendGrid: {"createdat": createdField, "updatedat": leftField, "contactid": leftField},
	Postmark: {},
	HubSpot: {
		"unsubscribedfromallemail": optOutField, "hsemailoptout": optOutField, "portalunsubscribe": optOutField,
		"emailhardbouncereason": bounceField, "portalbounce": bounceField, "globalbounce": bounceField, "portalspamreport": complaintField,
		"listmemberships": segmentsField, "lists": segmentsField, "createdate": createdField, "recordid": leftField, "contactunworked": leftField,
	},
	MailerLite: {
		"subscriber": app.EmailField, "name": app.FirstNameField, "status": statusField, "groups": segmentsField, "group": segmentsField,
		"subscribed": createdField, "subscribedat": createdField, "createdat": createdField, "unsubscribedat": optOutField,
		"sent": leftField, "opens": leftField, "opened": leftField, "clicks": leftField, "clicked": leftField, "openrate": leftField, "clickrate": leftField,
		"ipaddress": leftField, "signupip": leftField, "optinip": leftField, "optintime": leftField, "updatedat": leftField, "id": leftField,
	},
	Resend:   {"id": leftField, "createdat": createdField, "updatedat": leftField, "segments": segmentsField},
	Listmonk: {"uuid": leftField, "id": leftField, "name": fullNameField, "attributes": attributesField, "attribs": attributesField, "status": statusField, "lists": segmentsField, "createdat": createdField, "updatedat": leftField},
}

// marks are the headings by which a preset is detected: all of one line must occur.
var marks = []struct {
	preset Preset
	all    string
}{
	{Mailchimp, "memberrating leid"}, {Mailchimp, "optintime leid"}, {Mailchimp, "confirmtime leid"}, {Mailchimp, "leid euid"}, {Mailchimp, "memberrating optintime"},
	{Brevo, "email emailblacklisted"}, {Brevo, "email addedtime modifiedtime"}, {Brevo, "contactid email sms"},
	{SendGrid, "email alternateemails contactid"}, {SendGrid, "email stateprovinceregion contactid"},
	{SendGrid, "status reason email created"},
	{Postmark, "emailaddress suppressionreason"},
	{HubSpot, "recordid email contactowner"}, {HubSpot, "recordid email leadstatus"}, {HubSpot, "recordid email createdate"}, {HubSpot, "recordid email lifecyclestage"},
	{HubSpot, "recordid email marketingcontactstatus"}, {HubSpot, "email unsubscribedfromallemail"}, {HubSpot, "email portalunsubscribe"},
	{MailerLite, "subscriber opens clicks"}, {MailerLite, "subscriber subscribed"}, {MailerLite, "subscriber status"}, {MailerLite, "subscriber groups"},
	{MailerLite, "email subscribed groups"}, {MailerLite, "email subscribed opens clicks"},
	{Resend, "id email firstname lastname unsubscribed createdat"},
	{Listmonk, "uuid email name attributes status"},
}

// plain returns a heading in lower case without blanks, underscores and hyphens.
func plain(heading string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, heading)
}

// detect returns the preset of a file by its headings, "" if unknown.
func detect(headings []string) Preset {
	there := map[string]bool{}
	for _, h := range headings {
		there[plain(h)] = true
	}
	for _, mark := range marks {
		all := true
		for want := range strings.FieldsSeq(mark.all) {
			all = all && there[want]
		}
		if all {
			return mark.preset
		}
	}
	return ""
}

// role returns the field of a heading, "" for a property.
func (p Preset) role(heading string) string {
	name := plain(heading)
	if p == HubSpot && strings.HasPrefix(name, "optedoutofemail") { // of one kind of mail, which may be any topic
		return optOutField
	}
	// Mailchimp's own headings are in capitals; a merge field may have the same name.
	if role := ownHeadings[p][name]; role != "" && (p != Mailchimp || heading == strings.ToUpper(heading)) {
		return role
	}
	return presetHeadings[name]
}

// isSuppressionList reports by the headings whether a file is a suppression list: it has no names
// and properties for contacts.
func (p Preset) isSuppressionList(headings []string) bool {
	switch p {
	case Postmark:
		return true
	case SendGrid:
		created := false
		for _, h := range headings {
			switch plain(h) {
			case "created":
				created = true
			case "status", "reason", "email", "ip", "":
			default:
				return false
			}
		}
		return created
	}
	return false
}

// ListStatus is whether a contact gets mail according to a file; empty: it does.
type ListStatus string

// The statuses other than origins of suppressions, weakest first.
const (
	subscribed   ListStatus = ""
	optedOut     ListStatus = "opted_out" // of bulk mail, without a suppression
	unsubscribed            = ListStatus(app.OriginUnsubscribe)
	bounced                 = ListStatus(app.OriginBounce)
	complained              = ListStatus(app.OriginComplaint)
)

var listStatusRank = map[ListStatus]int{subscribed: 0, optedOut: 1, unsubscribed: 2, bounced: 3, complained: 4}

// strongest returns the stronger of two.
func (s ListStatus) strongest(other ListStatus) ListStatus {
	if listStatusRank[other] > listStatusRank[s] {
		return other
	}
	return s
}

// statusWords are the status words of services in plain form. Contacts who never agreed or
// confirmed count as opted out.
var statusWords = map[string]ListStatus{
	"active": subscribed, "subscribed": subscribed, "enabled": subscribed, "confirmed": subscribed, "optedin": subscribed,
	"unsubscribed": optedOut, "optedout": optedOut, "optout": optedOut, "nonsubscribed": optedOut, "unconfirmed": optedOut,
	"cleaned": bounced, "bounced": bounced, "hardbounced": bounced, "hardbounce": bounced,
	"junk": complained, "spam": complained, "complained": complained, "complaint": complained, "spamcomplaint": complained,
	"blocklisted": unsubscribed, "blacklisted": unsubscribed,
}

// looseWords are further status words, for columns that hold statuses.
var looseWords = map[string]ListStatus{
	"inactive": optedOut, "pending": optedOut, "transactional": optedOut, "archived": optedOut, "deleted": optedOut, "removed": optedOut, "disabled": optedOut,
	"bounce": bounced, "undeliverable": bounced,
}

// statusOfFile returns the status in the name of a Mailchimp export.
func (p Preset) statusOfFile(file string) ListStatus {
	if p != Mailchimp {
		return subscribed
	}
	name := strings.ToLower(path.Base(file))
	for _, word := range []string{"unsubscribed", "nonsubscribed", "non-subscribed", "pending", "archived", "transactional"} {
		if strings.HasPrefix(name, word) {
			return optedOut
		}
	}
	if strings.HasPrefix(name, "cleaned") {
		return bounced
	}
	return subscribed
}

// isSMSExport reports whether a member is about text messages only.
func isSMSExport(file string) bool {
	return strings.Contains(strings.ToLower(path.Base(file)), "_sms_audience_export")
}

// headings returns the headings of a table with the address column that the caller named.
func (in *Input) headings(all []string) (headingSet, error) {
	if in.EmailColumn == "" {
		return all, nil
	}
	at := slices.IndexFunc(all, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), strings.TrimSpace(in.EmailColumn)) })
	if at < 0 {
		return nil, app.Invalid("file", "has no column named %q in its first row", in.EmailColumn)
	}
	all = slices.Clone(all)
	all[at] = app.EmailField
	return all, nil
}
