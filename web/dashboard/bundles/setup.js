import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{gate$Gate,gate$Said,gate$about,gate$arrive,gate$enter,gate$own,gate$useForm}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{state$choose,state$mayAdmin,state$me,state$membership,state$signedIn,state$signedOut,state$stillSignedIn,state$team}from"./app.js";import{second_factor$AskFactor,second_factor$Codes,second_factor$Digits,second_factor$NoWayIn,second_factor$Progress,second_factor$TurnOn}from"./app.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{paths$domainIn,paths$encoded,paths$fileAt,paths$idOf,paths$isId,paths$isPath,paths$ownDomain}from"./app.js";import{relay_form$RelayFields,relay_form$emptyRelay,relay_form$relayURL}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";function RelayStep({next,top}){let relays=api$useGet("/relays",{},{team:null}),[values,setValues]=lib_core$useState(relay_form$emptyRelay),[tried,setTried]=lib_core$useState(
null),given=relays.data?.data.find(r=>r.from==="flag"),form=gate$useForm(async()=>{setTried(null);let{region}=given??await api$api.post("/relays",{url:relay_form$relayURL(
values)},{team:null});setTried(await api$api.post(paths$encoded`/relays/${region}/test`,{},{team:null}))});return!relays.data&&!relays.error?lib_core$html`<${gate$Gate} wide title=${i18n$t(
"setup.title")}>${top}<//>`:lib_core$html`<${gate$Gate} wide title=${i18n$t("setup.title")} onSubmit=${tried?.ok?()=>next(!0):form.submit}>${top}<${gate$Said} form=${form} />
	${given?lib_core$html`<p class="prose">${i18n$t("setup.relay.given",{host:given.host})}</p>`:lib_core$html`<div class="setup-fields"><${relay_form$RelayFields} values=${values} set=${some=>setValues(
before=>({...before,...some}))} error=${form.error} /></div>`}
	${tried&&lib_core$html`<${Trial} tried=${tried} given=${given} />`}
	<div class="row">${tried?.ok?lib_core$html`<${ui_base$Button} type="submit" kind="primary">${i18n$t("setup.next")}<//>`:lib_core$html`<${ui_base$Button} type="submit" kind="primary" busy=${form.
busy}>${i18n$t(tried?"setup.relay.again":given?"setup.relay.test":"setup.relay.act")}<//><${ui_base$Button} kind="quiet" onClick=${()=>next(!1)}>${i18n$t(tried?
"setup.relay.keep":"setup.skip")}<//>`}</div><//>`}function Trial({tried,given}){let failed=tried.steps.find(step=>!step.ok);return lib_core$html`<div class="stack stack--2" role="status"><h2>${tried.
ok?i18n$t("setup.relay.works"):i18n$t("setup.relay.fails",{step:i18n$t(`setup.relay.steps.${failed?.step??"connect"}`)})}</h2>
	${failed&&i18n$find(`setup.relay.fixes.${failed.step}`)&&lib_core$html`<p class="ink2">${i18n$t(`setup.relay.fixes.${failed.step}`)}${given&&lib_core$html` ${i18n$t(
"setup.relay.givenFix")}`}</p>`}
	<table class="table wide"><tbody>${tried.steps.map(step=>lib_core$html`<tr><td><${ui_base$Status} of=${step.ok?"ok":"bad"} word=${i18n$t(`setup.relay.steps.${step.
step}`)} /></td><td class="break mono t12">${step.said}</td><td class="num muted">${format$number(step.ms)} ms</td></tr>`)}</tbody></table></div>`}var names=["you","factor","relay","domain"];function Setup(){let[at,setAt]=lib_core$useState("you"),[proven,setProven]=lib_core$useState([]),[code]=lib_core$useState(
router$place.value.hash),Step={you:You,factor:Factor,relay:Relay,domain:Domain}[at];return lib_core$html`<${Step} code=${code} next=${(done=!0)=>{done&&setProven(
before=>[...before,at]);let to=names[names.indexOf(at)+1];to?setAt(to):router$go("/",{replace:!0})}} progress=${lib_core$html`<${second_factor$Progress} at=${names.
indexOf(at)} steps=${names.map(name=>i18n$t(`setup.${name}.step`))} done=${names.map(name=>proven.includes(name))} />`} />`}var Top=({progress,of})=>lib_core$html`${progress}<div class="stack stack--2"><h1>${i18n$t(
`setup.${of}.title`)}</h1><p class="ink2 prose">${i18n$t(`setup.${of}.text`)}</p></div>`;function You({code,next,progress}){let[values,setValues]=lib_core$useState(
{name:"",email:"",password:"",team:""}),set=name=>value=>setValues(before=>({...before,[name]:value})),form=gate$useForm(async()=>{await api$api.post("/auth/set\
up",{code,email:values.email.trim(),password:values.password,name:values.name.trim(),team:values.team.trim()},{team:null}),router$go("/setup",{replace:!0}),await gate$arrive(),
next()});return form.error?.status===404?lib_core$html`<${Over} title=${i18n$t("setup.there")} text=${i18n$t("setup.thereText")} command="mailer users link EMAIL" />`:
form.error?.status===403||!code?lib_core$html`<${Over} title=${i18n$t(code?"setup.used":"setup.missing")} text=${i18n$t("setup.usedText")} command="mailer users setup" />`:
lib_core$html`<${gate$Gate} wide title=${i18n$t("setup.title")} onSubmit=${form.submit}><${Top} progress=${progress} of="you" />
	<${gate$Said} form=${form} fields=${["name","email","password","team"]} />
	<div class="setup-fields"><${ui_base$Input} label=${i18n$t("setup.you.name")} autocomplete="name" value=${values.name} onInput=${set("name")} error=${gate$about(
form.error,"name")} autofocus />
	<${ui_base$Input} label=${i18n$t("setup.you.team")} autocomplete="organization" value=${values.team} onInput=${set("team")} hint=${i18n$t("setup.you.teamHint")} error=${gate$about(
form.error,"team")} />
	<${ui_base$Input} label=${i18n$t("signIn.email")} type="email" autocomplete="username" required value=${values.email} onInput=${set("email")} error=${gate$about(
form.error,"email")} />
	<${ui_base$Input} label=${i18n$t("signIn.password")} type="password" autocomplete="new-password" required value=${values.password} onInput=${set("password")} hint=${i18n$t(
"setup.you.passwordHint")} error=${gate$about(form.error,"password")} /></div>
	<div class="row"><${ui_base$Button} type="submit" kind="primary" busy=${form.busy}>${i18n$t("setup.you.act")}<//></div><//>`}var Over=({title,text,command})=>lib_core$html`<${gate$Gate} title=${i18n$t(
"setup.title")}><div class="stack stack--2"><h1>${title}</h1><p class="ink2">${text}</p></div><div class="code"><pre tabindex="0">${command}</pre></div><${ui_base$Button} kind="wide" href=${`${router$base}\
/sign-in`}>${i18n$t("signIn.title")}<//><//>`;function Factor({next,progress}){let[codes,setCodes]=lib_core$useState(null);return lib_core$html`<${gate$Gate} wide title=${i18n$t(
"setup.title")}>${codes?lib_core$html`${progress}<h1>${i18n$t("factor.codes")}</h1><${second_factor$Codes} codes=${codes} /><div class="row"><${ui_base$Button} kind="primary" onClick=${()=>next()}>${i18n$t(
"setup.kept")}<//></div>`:lib_core$html`<${Top} progress=${progress} of="factor" /><${second_factor$TurnOn} skip=${()=>next(!1)} skipWord=${i18n$t("setup.skip")} done=${made=>{
setCodes(made),gate$arrive()}} />`}<//>`}function Relay({next,progress}){return lib_core$html`<${RelayStep} next=${next} top=${lib_core$html`<${Top} progress=${progress} of="relay" />`} />`}
function Domain({next,progress}){let[name,setName]=lib_core$useState(paths$ownDomain(state$me.value?.email)),form=gate$useForm(async()=>{await api$api.post("/do\
mains",{name:paths$domainIn(name)}),next()});return lib_core$html`<${gate$Gate} wide title=${i18n$t("setup.title")} onSubmit=${form.submit}><${Top} progress=${progress} of="domain" />
	<${gate$Said} form=${form} fields=${["name"]} /><div class="setup-fields"><${ui_base$Input} label=${i18n$t("setup.domain.name")} mono autocapitalize="none" spellcheck=${!1} required value=${name} onInput=${setName} hint=${i18n$t(
"setup.domain.hint")} error=${gate$about(form.error,"name")} autofocus /></div>
	<div class="row"><${ui_base$Button} type="submit" kind="primary" busy=${form.busy}>${i18n$t("setup.domain.act")}<//><${ui_base$Button} kind="quiet" onClick=${()=>next(
!1)}>${i18n$t("setup.skip")}<//></div><//>`}export{Setup as default};
