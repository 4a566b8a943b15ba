import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{gate$Gate,gate$Said,gate$about,gate$arrive,gate$enter,gate$own,gate$useForm}from"./app.js";import{passkey$can,passkey$make,passkey$use}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{second_factor$AskFactor,second_factor$Codes,second_factor$Digits,second_factor$NoWayIn,second_factor$Progress,second_factor$TurnOn}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";function SignIn(){let[email,setEmail]=lib_core$useState(""),[password,setPassword]=lib_core$useState(""),[factors,setFactors]=lib_core$useState(null),to=router$place.
value.query.get("to"),inside=()=>gate$enter(to),form=gate$useForm(async()=>{let answer=await api$api.post("/auth/sign-in",{email:email.trim(),password},{team:null});
answer.second_factor?.length?setFactors(answer.second_factor):await inside()}),byPasskey=gate$useForm(async()=>{await passkey$use(),await inside()});return api$useGet(
"/auth/setup",{},{team:null}).data?.needed?lib_core$html`<${gate$Gate} title=${i18n$t("signIn.title")}><div class="stack stack--2"><h1>${i18n$t("signIn.noAccoun\
t")}</h1><p class="ink2">${i18n$t("signIn.noAccountText")}</p></div><div class="code"><pre tabindex="0">mailer users setup</pre></div><//>`:factors?lib_core$html`<${second_factor$AskFactor} factors=${factors} done=${inside} back=${()=>{
setPassword(""),setFactors(null)}} />`:lib_core$html`<${gate$Gate} title=${i18n$t("signIn.title")} onSubmit=${form.submit}><h1>${i18n$t("signIn.title")}</h1>
	<${First} /><${gate$Said} form=${form} words=${{invalid_credentials:i18n$t("signIn.wrong")}} /><${gate$Said} form=${byPasskey} words=${{invalid_credentials:i18n$t(
"factor.wrongPasskey")}} />
	<${ui_base$Input} label=${i18n$t("signIn.email")} type="email" autocomplete="username" required value=${email} onInput=${setEmail} autofocus />
	<${ui_base$Input} label=${i18n$t("signIn.password")} type="password" autocomplete="current-password" required value=${password} onInput=${setPassword} />
	<${ui_base$Button} type="submit" kind="primary wide" busy=${form.busy}>${i18n$t("signIn.act")}<//>
	${passkey$can()&&lib_core$html`<p class="or">${i18n$t("signIn.or")}</p><${ui_base$Button} icon="passkey" kind="wide" busy=${byPasskey.busy} onClick=${byPasskey.
submit}>${i18n$t("signIn.passkey")}<//>`}
	<${second_factor$NoWayIn} email=${email.trim()} /><//>`}function First(){let[ended]=lib_core$useState(()=>sessionStorage.getItem("mailer.ended"));return lib_core$useEffect(
()=>sessionStorage.removeItem("mailer.ended"),[]),ended?lib_core$html`<${ui_base$Notice}>${i18n$t("signIn.ended")}<//>`:null}export{SignIn as default};
