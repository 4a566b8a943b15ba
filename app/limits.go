package app

import (
	"time"

	"mailer/app/kit/mailbox"
)

// Limits of one email.
const (
	MaxRecipients = 50
	// MaxReturnPathRecipient is the highest recipient number of a return path.
	MaxReturnPathRecipient = 254
	// MaxDomain is the maximum length of a domain, in bytes.
	MaxDomain = mailbox.MaxDomain
	// MaxSubject is in bytes. Mail readers show far less, and one header must not exceed what
	// relays accept.
	MaxSubject   = 2000
	MaxTags      = 50
	MaxTagLength = 256
	// maxPlaceholders limits the unsubscribe links in one body: each is several times as long as
	// its placeholder, and a message must not exceed the accepted size.
	maxPlaceholders = 100
	// MinExpiresIn and MaxExpiresIn are the limits of expires_in.
	MinExpiresIn = time.Minute
	MaxExpiresIn = 30 * 24 * time.Hour
)

// Limits of the custom headers of one email. A value is folded at single blanks. Each piece
// between two blanks must fit into a line of 998 octets (RFC 5322 2.1.1).
const (
	MaxHeaders     = 50
	maxHeaderName  = 76
	maxHeaderValue = 16_000 // bytes
	maxHeaderPiece = 997
)

// Limits of the attachments of one email.
const (
	MaxAttachments = 100
	maxFetchURL    = 2048 // bytes of the URL of an attachment
	// DefaultMaxAttachmentBytes is the maximum decoded size of all attachments of one email on a
	// self-hosted server.
	DefaultMaxAttachmentBytes = 25 << 20
	maxFilename               = 255 // bytes, the limit of file systems
	maxContentType            = 255
	MaxContentID              = 128 // bytes
)

// Limits of requests.
const (
	MaxBatch            = 100  // emails in one POST /emails/batch
	MaxContactBatch     = 1000 // items of one batch of contacts
	MaxSuppressionBatch = 1000 // addresses or ids of one batch of suppressions
	MaxIdempotencyKey   = 256  // characters
	MaxLimit            = 100  // rows of the largest page
	DefaultLimit        = 20   // rows of a page if no limit is given
	// MaxRendered is the maximum size of HTML and text rendered from templates for one request,
	// and of one template, in bytes: as much as a request could contain itself. Without this limit
	// a short request could ask for gigabytes.
	MaxRendered = 40 << 20
)

// Limits of broadcasts.
const (
	MaxBroadcastName = 255  // characters
	MaxPreview       = 1000 // characters; mail readers show about 150
	// MaxBroadcastContent is the maximum of HTML and text together, in bytes. Every message being
	// sent holds as much memory.
	MaxBroadcastContent = 5 << 20
	// MaxBroadcastTests is the maximum number of addresses of one test send.
	MaxBroadcastTests = 5
)

// Limits of contacts.
const (
	MaxContactName  = 255  // characters of a first or last name
	MaxContactLinks = 1000 // segments or topics of one item
	MaxProperties   = 100  // keys of one contact
	MaxPropertyKey  = 200  // characters
	maxPropertyText = 1000 // characters
)

// Limits of segments.
const (
	MaxSegmentName    = 255 // characters
	MaxConditions     = 50
	maxConditionValue = 1000 // characters
	MaxConditionDays  = 3650 // days in a condition
)

// Limits of topics, in characters.
const (
	MaxTopicName        = 50
	MaxTopicDescription = 200
)

// MaxVariants is the maximum number of languages of a template or broadcast besides its own.
const MaxVariants = 50

// Limits of saved blocks.
const (
	MaxBlockName = 100      // characters
	MaxBlock     = 64 << 10 // bytes of HTML
	// MaxBlocks is the maximum number of blocks in the HTML of one document.
	MaxBlocks = 20
)

// Limits of sign-up forms.
const (
	MaxFormName    = 100 // characters
	MaxFormLabel   = 100 // characters
	MaxFormTopics  = 20  // and segments
	MaxFormFields  = 10
	MaxFormOrigins = 20
	MaxFormURL     = 2000 // characters
	MaxFormValue   = 100  // characters of what a visitor types
	// Confirmations of one form in 24 hours.
	DefaultConfirmationsPerDay = 500
	MaxConfirmationsPerDay     = 100_000
	// Confirmations of one form in an hour.
	MaxConfirmationsPerHour = 60
)

// Limits of templates.
const (
	MaxTemplateVariables = 50
	MaxTemplateName      = 255 // characters
	MaxTemplateAlias     = 100 // bytes, of ASCII
	MaxVariableKey       = 50
	maxVariableText      = 2000 // characters
	// maxVariableData is the maximum of the lists, objects and HTML of one send together, in bytes
	// of JSON, and maxVariableDepth how deeply they may be nested.
	maxVariableData  = 64 << 10
	maxVariableDepth = 5
)

// Limits of images.
const (
	MaxImageFile   = 5 << 20    // bytes of an uploaded file
	MaxImageSide   = 12_000     // pixels of the longer side
	MaxImagePixels = 16_000_000 // width × height
	MaxImageAlt    = 1000       // characters of the alternative text
	// DefaultMaxImages is the maximum size of all images of a team on a self-hosted server, in bytes.
	DefaultMaxImages = 1 << 30
	// ImageOverhead is what each image counts in addition to its bytes: its rows.
	ImageOverhead = 4 << 10
)

// MaxKeyName is the maximum length of the name of an API key, in characters.
const MaxKeyName = 50
