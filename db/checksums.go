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

// broadcastChecksum returns the checksum of a broadcast's content.
func broadcastChecksum(c *app.BroadcastContent) int64 {
	if c.Text == nil {
		return contentChecksum(c.Preview, c.HTML)
	}
	return contentChecksum(c.Preview, c.HTML, *c.Text)
}

// columnText returns the text of a nullable column.
func columnText(column any) string {
	text, _ := column.(string)
	return text
}
