// Package bench measures the built binary: durable accepts a second, and the
// whole way from an accept to a sink, each beside a limit of the same machine
// measured in the same run. It holds tests only; run it with
//
//	go test -run '^$' -bench 'Accept|EndToEnd' -benchtime 10000x -timeout 20m ./app/testing/bench
//
// -benchtime counts emails; what takes seconds a run is done ten times at most.
// Load and sink share the machine with the server, as they do on a small VPS.
//
// # Beside Postfix
//
// BenchmarkVersus (testdata/versus.sh, as root) measures Mailer with DKIM beside
// Postfix with OpenDKIM, and Mailer without DKIM beside Postfix alone: in turns,
// each peer started anew on an empty queue for each round, with the same
// messages, the same load (16 connections that are kept), the same sink (at most
// 16 connections), the same disk. Postfix gets by SMTP, pipelined, what Mailer
// made of its POST /emails, byte for byte.
//
//   - Rate: from the first request to the last message's final dot at the sink.
//   - Processor time: of all processes of a peer, also of those that ended, until
//     it has nothing left to do; OpenDKIM's is in it, that of load and sink is not.
//   - Memory: Mailer's resident peak; of Postfix and OpenDKIM the most that was
//     sampled, twice a second, with shared pages counted once.
//   - "accepted" is from the request, of Postfix from the message's first byte, to
//     the reply; "arrived" from there to the sink. At 100 messages a second nobody
//     queues. When all messages are offered at once, arrival shows how far a peer
//     accepts ahead of its signing: Mailer does, a milter does not.
//
// A round fails when a message is missing or comes twice, when one is not signed
// as it should be, or when the signature of one does not verify.
//
// What Postfix and OpenDKIM were given is in postfix_test.go: mainCF, masterCF,
// openDKIMConf; what maddy was, where MAILER_BENCH_MADDY names one, in
// maddy_test.go: maddyConf, maddySigning. The milter speaks over a unix socket, the key is RSA-2048,
// relaxed/relaxed, and signs the fields that Mailer signs.
//
// # Beside listmonk
//
// BenchmarkVersusListmonk, where MAILER_BENCH_LISTMONK names one, measures a
// broadcast of Mailer beside a campaign of listmonk, unsigned, in turns, each
// started anew with the same contacts: 5 KB of HTML with a name and a link of its
// own for each, the same sink, at most 16 connections to it.
//
//   - Rate: from the first message's final dot at the sink to the last's. How long
//     the first took stands apart: a peer that looks for work now and then is not
//     slow at it.
//   - Processor time: of all processes of a peer, its PostgreSQL's too, from the
//     request until it has nothing left to do.
//   - Memory: as above; what a peer needed to take in its contacts is not in it.
//   - A message that is missing when a peer holds that all are sent is lost, one
//     that arrives again is doubled. Mailer must have none of either.
//
// What listmonk was given is in listmonk_test.go: listmonkConf, settings. PostgreSQL
// is as its initdb makes it. Mailer's messages are twice as long: each has its text
// beside the HTML.
//
// What maddy and listmonk are asked is from their documentation. In tests fakes
// stand in for them, unless the variables name the real ones.
package bench
