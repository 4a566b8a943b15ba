# Sends by the mailer of Rails.
require "action_mailer"

ActionMailer::Base.delivery_method = :smtp
ActionMailer::Base.smtp_settings = {
  address: ENV["SMTP_HOST"], port: ENV["SMTP_PORT"].to_i, domain: "rails.example.test",
  user_name: "resend", password: ENV["SMTP_KEY"], authentication: :login, enable_starttls_auto: false,
}

class Letters < ActionMailer::Base
  def welcome
    attachments["notes.txt"] = "first\nsecond\n"
    mail(from: "Ada <ada@example.test>", to: "zofia@example.org", bcc: "hidden@example.org", subject: "by Rails") do |format|
      format.text { render plain: "Dzień dobry from Rails" }
      format.html { render html: "<p>Dzień dobry from <b>Rails</b></p>".html_safe }
    end
  end
end

Letters.welcome.deliver_now
