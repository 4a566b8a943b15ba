package apptest

import (
	"crypto/rsa"
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"sync"
)

// rsaPEM holds keys with 2048 bits that only tests use. To generate a key takes longer than most
// tests.
//
//go:embed testdata/rsa.pem
var rsaPEM []byte

var rsaKeys = sync.OnceValue(func() (keys []*rsa.PrivateKey) {
	for block, rest := pem.Decode(rsaPEM); block != nil; block, rest = pem.Decode(rest) {
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			panic(err)
		}
		keys = append(keys, key.(*rsa.PrivateKey))
	}
	return keys
})

// RSAKey returns the key with a number. There are four: 4 is the number of 0 again.
func RSAKey(number int) *rsa.PrivateKey {
	keys := rsaKeys()
	return keys[number%len(keys)]
}
