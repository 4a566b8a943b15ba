package inbound

// decodeTransfer decodes a transfer encoding as far as possible. Unknown encodings are not decoded.
func decodeTransfer(body []byte, encoding string) []byte {
	switch encoding {
	case "base64", "b":
		return decodeBase64(body)
	case "quoted-printable", "q":
		return decodeQuoted(body)
	}
	return body
}

// base64Values are the values of the characters of base64; 0xff: ignored.
var base64Values = func() (values [256]byte) {
	for i := range values {
		values[i] = 0xff
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		values[c] = byte(i)
	}
	return values
}()

// decodeBase64 decodes base64. It skips invalid characters (RFC 2045 6.8). Padding ends a group,
// so that joined pieces are decoded too.
func decodeBase64(body []byte) []byte {
	out := make([]byte, 0, len(body)/4*3+3)
	var bits uint32
	held := 0 // characters of the group in bits
	for _, c := range body {
		v := base64Values[c]
		switch {
		case c == '=':
			out = appendBits(out, bits, held)
			bits, held = 0, 0
		case v == 0xff:
		default:
			bits, held = bits<<6|uint32(v), held+1
			if held == 4 {
				out = append(out, byte(bits>>16), byte(bits>>8), byte(bits))
				bits, held = 0, 0
			}
		}
	}
	return appendBits(out, bits, held)
}

// appendBits appends the bytes of an incomplete group.
func appendBits(out []byte, bits uint32, held int) []byte {
	switch held {
	case 2:
		return append(out, byte(bits>>4))
	case 3:
		return append(out, byte(bits>>10), byte(bits>>2))
	}
	return out
}

// base64Size returns the length of decodeBase64(body).
func base64Size(body []byte) (size int) {
	held := 0
	for _, c := range body {
		switch {
		case c == '=':
			size += held * 6 / 8
			held = 0
		case base64Values[c] != 0xff:
			if held++; held == 4 {
				size, held = size+3, 0
			}
		}
	}
	return size + held*6/8
}

// decodeQuoted decodes quoted-printable and leaves invalid sequences unchanged.
func decodeQuoted(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		if body[i] != '=' {
			out = append(out, body[i])
			continue
		}
		rest := body[i+1:]
		if len(rest) >= 2 {
			if high, low := hexValue(rest[0]), hexValue(rest[1]); high >= 0 && low >= 0 {
				out = append(out, byte(high<<4|low))
				i += 2
				continue
			}
		}
		end := 0
		for end < len(rest) && (rest[end] == ' ' || rest[end] == '\t' || rest[end] == '\r') {
			end++
		}
		if end == len(rest) || rest[end] == '\n' { // a soft line break
			i += end + 1
			continue
		}
		out = append(out, '=')
	}
	return out
}

// hexValue returns the value of a hexadecimal digit; -1: not a digit.
func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
