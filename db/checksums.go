package db

import (
	"hash/crc32"

	"mailer/app"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func bytesChecksum(b []byte) int64 { return int64(crc32.Checksum(b, castagnoli)) }

// contentChecksum returns the checksum of an email's content.
func contentChecksum(texts ...string) int64 {
	var sum uint32
	for _, text := range texts {
		sum = crc32.Update(sum, castagnoli, []byte(text))
		sum = crc32.Update(sum, castagnoli, []byte{0})
	}
	return int64(sum)
}

// broadcastChecksum returns the checksum of a broadcast's content. variants is the column with them;
// empty: none. Versions that know neither syntax nor variants find another one and hold the broadcast
// as damaged, instead of sending it without them.
func broadcastChecksum(c *app.BroadcastContent, variants string) int64 {
	texts := []string{c.Preview, c.HTML}
	if c.Text != nil {
		texts = append(texts, *c.Text)
	}
	if c.Syntax != app.PlainSyntax || variants != "" {
		texts = append(texts, "syntax", string(c.Syntax), variants)
	}
	return contentChecksum(texts...)
}

// columnText returns the text of a nullable column.
func columnText(column any) string {
	text, _ := column.(string)
	return text
}
