import{relays_add$Steps,relays_add$addDialog}from"./app.js";export{relays_add$Steps as Steps,relays_add$addDialog as addDialog};
