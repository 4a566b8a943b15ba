import{send$sendDialog}from"./app.js";export{send$sendDialog as sendDialog};
