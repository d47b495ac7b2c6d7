// Whose page this is: {user, role}. The user is "" in a studio without logins. What a role permits is checked on the
// server; the page only says so.
export const { user, role } = await fetch(new URL("../../account.json", import.meta.url))
  .then((response) => (response.ok ? response.json() : Promise.reject()))
  .catch(() => ({ user: "", role: "administer" }));

export const mayWork = ["work", "administer"].includes(role);
