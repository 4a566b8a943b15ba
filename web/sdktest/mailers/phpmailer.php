<?php
// Sends by PHPMailer, which WordPress has inside.
require '/usr/share/php/libphp-phpmailer/autoload.php';

$m = new PHPMailer\PHPMailer\PHPMailer(true);
$m->isSMTP();
$m->Host = getenv('SMTP_HOST');
$m->Port = (int) getenv('SMTP_PORT');
$m->SMTPAuth = true;
$m->SMTPAutoTLS = false;
$m->Username = 'resend';
$m->Password = getenv('SMTP_KEY');
$m->CharSet = 'UTF-8';
$m->setFrom('ada@example.test', 'Ada');
$m->addAddress('zofia@example.org');
$m->addBCC('hidden@example.org');
$m->Subject = 'by PHPMailer';
$m->isHTML(true);
$m->Body = '<p>Dzień dobry from <b>PHPMailer</b> <img src="cid:logo"></p>';
$m->AltBody = 'Dzień dobry from PHPMailer';
$m->addStringEmbeddedImage(base64_decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='), 'logo', 'logo.png', 'base64', 'image/png');
$m->send();
