import{lib_core$Fragment,lib_core$batch,lib_core$cloneElement,lib_core$computed,lib_core$createContext,lib_core$effect,lib_core$h,lib_core$html,lib_core$render,
lib_core$signal,lib_core$untracked,lib_core$useCallback,lib_core$useComputed,lib_core$useContext,lib_core$useEffect,lib_core$useId,lib_core$useLayoutEffect,lib_core$useMemo,
lib_core$useReducer,lib_core$useRef,lib_core$useSignal,lib_core$useSignalEffect,lib_core$useState}from"./app.js";import{api$ApiError,api$address,api$api,api$forget,api$proof,api$request,api$silent,api$useGet,api$useList}from"./app.js";import{format$ago,format$clock,format$day,format$duration,format$exact,format$gap,format$mailbox,format$number,format$percent,format$relative,format$seconds,format$short,
format$size,format$stamp}from"./app.js";import{i18n$find,i18n$language,i18n$languages,i18n$preferred,i18n$say,i18n$speak,i18n$t}from"./app.js";import{router$base,router$go,router$href,router$match,router$place,router$setQuery,router$start}from"./app.js";import{state$choose,state$mayAdmin,state$me,state$membership,state$signedIn,state$signedOut,state$stillSignedIn,state$team}from"./app.js";import{team$TeamSections,team$closed,team$default,team$keysLeft}from"./shared.js";import{ui_base$Bones,ui_base$Button,ui_base$Check,ui_base$Code,ui_base$Copy,ui_base$CopyButton,ui_base$Empty,ui_base$Facts,ui_base$Failed,ui_base$Field,ui_base$Head,
ui_base$Icon,ui_base$Id,ui_base$Input,ui_base$Notice,ui_base$Section,ui_base$Sections,ui_base$Seg,ui_base$Select,ui_base$Status,ui_base$Tabs,ui_base$Time,ui_base$Verdict,
ui_base$copy,ui_base$dialogs,ui_base$useEscape}from"./app.js";import{ui_float$DialogBody,ui_float$Dialogs,ui_float$Menu,ui_float$Toasts,ui_float$attempt,ui_float$confirm,ui_float$dialog,ui_float$toast,ui_float$useAsked}from"./app.js";import{ui_list$Bulk,ui_list$Csv,ui_list$Foot,ui_list$Table,ui_list$address}from"./app.js";var actions=["backup.create","backup.restore","broadcast.cancel","broadcast.pause","broadcast.resume","broadcast.send","broadcast.unschedule","domain.create","d\
omain.delete","domain.forget_dns","domain.publish","domain.remember_dns","domain.rotate_dkim","domain.trust","domain.update","domain.verify","export","import","\
import.create","ingest.rotate","invitation.create","invitation.delete","key.create","key.delete","key.update","master_key.retire","master_key.rotate","member.ad\
d","member.remove","member.update","passkey.add","passkey.remove","password.change","plan.set","queue.drop","queue.hold","queue.move","queue.release","queue.req\
ueue","queue.retry","recovery_codes.create","relay.add","relay.pause","relay.remove","relay.resume","session.end","settings.update","sign_in.fail","suppression.\
remove","team.create","team.delete","team.rename","team.resume","team.retention","team.suspend","team.update","totp.off","totp.on","user.create","user.delete","\
user.link","user.rename","user.reset","user.update","webhook.create","webhook.delete","webhook.replay","webhook.rotate_secret","webhook.test","webhook.update"];
function Audit(){let all=state$me.value.operator&&(router$place.value.query.get("scope")==="all"||!state$team.value||!state$mayAdmin.value),barred=all?null:team$closed();
return lib_core$html`<${ui_base$Head} title=${i18n$t("audit.title")} /><${team$TeamSections} at="/audit" />${barred??lib_core$html`<${Log} all=${all} />`}`}var midnight=day=>day?
new Date(`${day}T00:00:00`).toISOString():void 0;function Log({all}){let q=router$place.value.query,get=name=>q.get(name)??void 0,query={action:get("action"),actor:get(
"actor"),target:get("target"),created_after:midnight(get("after")),created_before:midnight(get("before"))},asked=all?{team:null}:{},list=api$useList("/audit-log\
s",query,asked),filtered=Object.values(query).some(Boolean),columns=[{name:i18n$t("audit.when"),class:"w-when hide-s",cell:e=>lib_core$html`<${ui_base$Time} at=${e.
created_at} as="clock" />`},{name:i18n$t("audit.who"),class:"cell-name w-to cell-cut",cell:e=>lib_core$html`<${Who} of=${e.actor} /><span class="cell-sub"><${ui_base$Time} at=${e.
created_at} as="clock" /> · ${e.action}</span>`},{name:i18n$t("audit.what"),class:"w-team hide-s",cell:e=>lib_core$html`<span class="mono t12">${e.action}</span>`},
{name:i18n$t("audit.change"),class:"cell-cut",cell:e=>lib_core$html`<span class="muted">${changes(e).map(([name,before,after])=>`${name}: ${before===void 0?"":`${before}\
 → `}${after??"–"}`).join(", ")}</span>`},{name:i18n$t("audit.details"),hide:!0,class:"w-acts num",cell:e=>lib_core$html`<${ui_base$Button} icon="right" kind="quiet" label=${`${i18n$t(
"audit.details")}: ${e.action}`} onClick=${()=>details(e,all)} />`}],clear=()=>router$setQuery({action:null,actor:null,target:null,after:null,before:null}),empty=filtered?
lib_core$html`<${ui_base$Empty} icon="search" title=${i18n$t("audit.emptyFilter")} act=${lib_core$html`<${ui_base$Button} onClick=${clear}>${i18n$t("audit.clear")}<//>`}>${i18n$t(
"audit.emptyFilterText")}<//>`:lib_core$html`<${ui_base$Empty} icon="history" title=${i18n$t("audit.emptyTitle")}>${i18n$t("audit.emptyText")}<//>`;return lib_core$html`<div class="tools tools--wrap tools--top">${state$me.
value.operator&&state$team.value&&state$mayAdmin.value&&lib_core$html`<${ui_base$Seg} label=${i18n$t("audit.scope")} value=${all?"all":""} onChange=${scope=>router$setQuery(
{scope})} options=${[["",i18n$t("audit.this")],["all",i18n$t("audit.all")]]} />`}
	<${ui_base$Select} bare label=${i18n$t("audit.action")} value=${get("action")??""} onChange=${action=>router$setQuery({action})} options=${[["",i18n$t("audit.a\
nything")],...actions.map(a=>[a,a])]} />
	${query.actor&&lib_core$html`<${Chip} name=${i18n$t("audit.actor")} value=${list.rows.find(e=>e.actor.id===query.actor)?.actor.name??query.actor} clear=${()=>router$setQuery(
{actor:null})} />`}${query.target&&lib_core$html`<${Chip} name=${i18n$t("audit.onTarget")} value=${query.target} clear=${()=>router$setQuery({target:null})} />`}
	<${Day} name=${i18n$t("audit.after")} value=${get("after")} onChange=${after=>router$setQuery({after})} /><${Day} name=${i18n$t("audit.before")} value=${get("b\
efore")} onChange=${before=>router$setQuery({before})} />
	<span class="push"></span><${ui_list$Csv} path="/audit-logs" query=${query} name="audit-log" ...${asked} /></div>
	<${ui_list$Table} list=${list} columns=${columns} label=${i18n$t("audit.label")} empty=${empty} />`}var Day=({name,value,onChange})=>lib_core$html`<label class="day t12 muted">${name} <input type="date" class="input" value=${value??
""} onChange=${e=>onChange(e.currentTarget.value)} /></label>`,Chip=({name,value,clear})=>lib_core$html`<span class="token"><b>${name}</b> <span class="cut">${value}</span><${ui_base$Button} icon="x" kind="quiet" label=${i18n$t(
"audit.clear")} onClick=${clear} /></span>`,Who=({of})=>lib_core$html`<bdi>${of.name??i18n$t("audit.gone")}</bdi> <span class="muted">${of.type==="person"?"":i18n$t(
`audit.types.${of.type}`)}</span>`,shown=value=>value==null?void 0:typeof value=="object"?JSON.stringify(value):String(value);function changes(e){return[...new Set(
[...Object.keys(e.before??{}),...Object.keys(e.after??{})])].map(name=>[name,shown(e.before?.[name]),shown(e.after?.[name])]).filter(([,before,after])=>before!==
after)}var details=(e,all)=>ui_float$dialog(close=>lib_core$html`<${Details} of=${e} all=${all} close=${close} />`);function Details({of:e,all,close}){let only=parts=>{
close(),router$setQuery(parts)},narrow=(parts,word)=>lib_core$html` <${ui_base$Button} icon="search" kind="quiet" label=${word} onClick=${()=>only(parts)} />`;return lib_core$html`<${ui_float$DialogBody} title=${lib_core$html`<span class="mono">${e.
action}</span>`} onSubmit=${()=>close()} acts=${lib_core$html`<${ui_base$Button} type="submit">${i18n$t("ui.close")}<//>`}>
	<${ui_base$Facts} pairs=${[[i18n$t("audit.when"),format$exact(e.created_at)],[i18n$t("audit.who"),lib_core$html`<${Who} of=${e.actor} />${(e.actor.id??e.actor.
name)&&narrow({actor:e.actor.id??e.actor.name},i18n$t("audit.onlyActor"))}`],[i18n$t("audit.address"),e.address&&lib_core$html`<${ui_base$Copy} text=${e.address} />`],
[i18n$t("audit.target"),e.target&&lib_core$html`<span class="row"><${ui_base$Id} of=${e.target} />${narrow({target:e.target},i18n$t("audit.onlyTarget"))}</span>`],
[i18n$t("audit.team"),all&&e.team_id?lib_core$html`<${ui_base$Id} of=${e.team_id} />`:void 0]]} />
	${changes(e).length>0&&lib_core$html`<table class="table table--top"><thead><tr><th scope="col">${i18n$t("audit.change")}</th><th scope="col">${i18n$t("audit.w\
as")}</th><th scope="col">${i18n$t("audit.is")}</th></tr></thead><tbody>${changes(e).map(([name,before,after])=>lib_core$html`<tr><td class="mono t12">${name}</td><td class="break"><bdi>${before??
"–"}</bdi></td><td class="break"><bdi>${after??"–"}</bdi></td></tr>`)}</tbody></table>`}<//>`}export{Audit as default};
