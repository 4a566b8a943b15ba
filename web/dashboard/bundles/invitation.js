import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{gate$Gate,gate$Said,gate$about,gate$arrive,gate$enter,gate$own,gate$useForm}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{second_factor$AskFactor,second_factor$Codes,second_factor$Digits,second_factor$NoWayIn,second_factor$Progress,second_factor$TurnOn}from"./app.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";function Invitation(){let[name,setName]=lib_core$useState(""),[password,setPassword]=lib_core$useState(""),[factors,setFactors]=lib_core$useState(null),form=gate$useForm(
async()=>{let answer=await api$api.post("/auth/invitation",{code:router$place.value.hash,password,...name.trim()?{name:name.trim()}:{}},{team:null});answer.second_factor?.
length?setFactors(answer.second_factor):await gate$enter()}),[asks,setAsks]=lib_core$useState(null),[gone,setGone]=lib_core$useState(!1);return lib_core$useEffect(
()=>{router$place.value.hash&&api$api.post("/auth/invitation/read",{code:router$place.value.hash},{team:null}).then(setAsks,e=>setGone(e.status===403))},[]),factors?
lib_core$html`<${second_factor$AskFactor} factors=${factors} done=${()=>gate$enter()} back=${()=>location.assign(`${router$base}/sign-in`)} />`:form.error?.status===
403||gone||!router$place.value.hash?lib_core$html`<${gate$Gate} title=${i18n$t("invitation.title")}><div class="stack stack--2"><h1>${i18n$t("invitation.used")}</h1><p class="ink2">${i18n$t(
"invitation.usedText")}</p></div><${ui_base$Button} kind="wide" href=${`${router$base}/sign-in`}>${i18n$t("signIn.title")}<//><//>`:lib_core$html`<${gate$Gate} title=${i18n$t(
"invitation.title")} onSubmit=${form.submit}><div class="stack stack--2"><h1>${asks?i18n$t("invitation.joinTeam",{team:asks.team}):i18n$t("invitation.title")}</h1>${asks&&
lib_core$html`<p class="ink2"><bdi>${asks.invited_by?i18n$t("invitation.invitedBy",{by:asks.invited_by,email:asks.email}):i18n$t("invitation.invited",{email:asks.
email})}</bdi></p>`}<p class="ink2">${i18n$t("invitation.how")}</p></div>
	<${gate$Said} form=${form} fields=${["password","name"]} words=${{invalid_credentials:i18n$t("invitation.wrong")}} />
	<${ui_base$Input} label=${i18n$t("invitation.name")} autocomplete="name" value=${name} onInput=${setName} hint=${i18n$t("invitation.nameHint")} error=${gate$about(
form.error,"name")} autofocus />
	<${ui_base$Input} label=${i18n$t("signIn.password")} type="password" autocomplete="new-password" required value=${password} onInput=${setPassword} hint=${i18n$t(
"invitation.passwordHint")} error=${gate$about(form.error,"password")} />
	<${ui_base$Button} type="submit" kind="primary wide" busy=${form.busy}>${i18n$t("invitation.act")}<//><//>`}export{Invitation as default};
