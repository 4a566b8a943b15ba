// shared:broadcasts.js
import { broadcasts$BroadcastStatus, broadcasts$cancel, broadcasts$create, broadcasts$default, broadcasts$duplicate, broadcasts$pageOf, broadcasts$pause, broadcasts$unschedule } from "./shared.js";
export {
  broadcasts$BroadcastStatus as BroadcastStatus,
  broadcasts$cancel as cancel,
  broadcasts$create as create,
  broadcasts$default as default,
  broadcasts$duplicate as duplicate,
  broadcasts$pageOf as pageOf,
  broadcasts$pause as pause,
  broadcasts$unschedule as unschedule
};
