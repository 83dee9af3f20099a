// Calls the metadata of pgjdbc, so that the server has its statements in the log.
import java.sql.*;
public class Meta {
  static void all(ResultSet r) throws Exception { while (r.next()) {} r.close(); }
  public static void main(String[] a) throws Exception {
    Connection c = DriverManager.getConnection("jdbc:postgresql://127.0.0.1:54329/shop?user=postgres&ApplicationName=pgjdbc&preferQueryMode=simple");
    DatabaseMetaData m = c.getMetaData();
    m.getSQLKeywords(); m.getMaxColumnNameLength(); m.getStringFunctions();
    all(m.getSchemas()); all(m.getSchemas(null, "sal%")); all(m.getCatalogs()); all(m.getTableTypes());
    all(m.getTables(null, null, "%", null)); all(m.getTables(null, "public", "cust%", new String[]{"TABLE","VIEW"}));
    all(m.getColumns(null, null, "customer", "%")); all(m.getColumns(null, "sales", "purchase", "id"));
    all(m.getPrimaryKeys(null, null, "customer"));
    all(m.getImportedKeys(null, "sales", "purchase")); all(m.getExportedKeys(null, null, "customer")); all(m.getCrossReference(null,null,"customer",null,"sales","purchase"));
    all(m.getIndexInfo(null, "sales", "purchase", false, true)); all(m.getIndexInfo(null, null, "customer", true, false));
    all(m.getTypeInfo()); all(m.getUDTs(null, null, "%", null)); all(m.getBestRowIdentifier(null, null, "customer", 0, true)); all(m.getVersionColumns(null, null, "customer"));
    all(m.getTablePrivileges(null, null, "customer")); all(m.getColumnPrivileges(null, null, "customer", "%"));
    all(m.getProcedures(null, null, "%")); all(m.getFunctions(null, null, "pg_get%")); all(m.getFunctionColumns(null, null, "pg_get_expr", "%")); all(m.getClientInfoProperties());
    PreparedStatement p = c.prepareStatement("select * from customer"); ResultSet r = p.executeQuery(); ResultSetMetaData md = r.getMetaData();
    for (int i = 1; i <= md.getColumnCount(); i++) { md.getColumnTypeName(i); md.isNullable(i); md.isAutoIncrement(i); md.getColumnName(i); ((org.postgresql.PGResultSetMetaData) md).getBaseColumnName(i); }
    r.next(); r.getObject("feeling"); r.close();
    r = c.createStatement().executeQuery("select tags from sales.purchase"); r.getMetaData().getColumnTypeName(1); r.close();
    c.createArrayOf("text", new String[]{"a"}); c.getSchema(); c.setSchema("public"); c.isValid(1); c.getTransactionIsolation(); c.getHoldability();
    c.close();
  }
}
