// Command sign writes a minisign signature of a file beside it, as FILE.minisig:
//
//	MAILER_SIGNING_KEY_FILE=KEY sign -version VERSION -epoch SECONDS FILE
//	sign -generate KEY    # a throw-away key without a password; prints the public key
//
// The key file is one of minisign. If it is encrypted, MAILER_SIGNING_KEY_PASSWORD is its password.
// Equal arguments make equal bytes.
package main

import (
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"aead.dev/minisign"
)

func main() {
	log.SetFlags(0)
	generate := flag.String("generate", "", "write a new key to this file")
	version := flag.String("version", "", "version for the trusted comment")
	epoch := flag.Int64("epoch", 0, "time for the trusted comment, in seconds since 1970")
	flag.Parse()
	var err error
	switch {
	case *generate != "":
		err = newKey(*generate)
	case flag.NArg() == 1:
		err = sign(flag.Arg(0), *version, *epoch)
	default:
		err = fmt.Errorf("one file expected")
	}
	if err != nil {
		log.Fatal("sign: ", err)
	}
}

func newKey(file string) error {
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	text, err := private.MarshalText()
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	fmt.Println(public)
	return nil
}

// privateKey reads the key that the environment names.
func privateKey() (key minisign.PrivateKey, err error) {
	file := os.Getenv("MAILER_SIGNING_KEY_FILE")
	text, err := os.ReadFile(file)
	if err != nil {
		return key, fmt.Errorf("read MAILER_SIGNING_KEY_FILE: %w", err)
	}
	if minisign.IsEncrypted(text) {
		key, err = minisign.DecryptKey(os.Getenv("MAILER_SIGNING_KEY_PASSWORD"), text)
	} else {
		err = key.UnmarshalText(text)
	}
	if err != nil {
		return key, fmt.Errorf("%s: %w", file, err)
	}
	return key, nil
}

func sign(file, version string, epoch int64) error {
	key, err := privateKey()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	trusted := fmt.Sprintf("timestamp:%d\tfile:%s\tmailer %s", epoch, filepath.Base(file), version)
	signature := minisign.SignWithComments(key, content, trusted, "signature of mailer "+version)
	return os.WriteFile(file+".minisig", signature, 0o644)
}
